import { formatBytes } from '../contract/amounts.ts';
import type { ExportedFile, ListedExport, ShownExport } from '../contract/export-state.ts';
import { limits } from '../contract/limits.ts';
import { factList, make, setText, showAlert } from './dom.ts';
import { RefusedError, type Service } from './service.ts';
import { explainState, moment } from './words.ts';

/** What a row opens into: the facts of an export, and its files. */
export class ExportDetails {
  readonly row: HTMLTableRowElement;
  readonly #service: Service;
  readonly #requestId: string;
  readonly #alert = make('div');
  readonly #facts = make('div');
  readonly #files: HTMLTableSectionElement;
  readonly #table: HTMLTableElement;
  readonly #more: HTMLButtonElement;
  readonly #fileRows = new Map<string, readonly HTMLTableCellElement[]>();
  #pages = 1;

  constructor(service: Service, { requestId, dataset, file }: ListedExport) {
    this.#service = service;
    this.#requestId = requestId;
    const name = file ?? dataset ?? requestId;
    this.#files = make('tbody');
    const titles = ['File', 'State', 'Reason', 'Size', 'Since'];
    const head = make('tr', {}, ...titles.map((title) => make('th', { scope: 'col' }, title)));
    this.#table = make('table', { 'aria-label': `Files of ${name}` }, make('thead', {}, head), this.#files);
    this.#more = make('button', { type: 'button' }, 'More files');
    this.#more.addEventListener('click', () => {
      this.#pages += 1;
      void this.load();
    });
    const region = make('div', { role: 'region', 'aria-label': `Export of ${name}`, class: 'details' });
    region.append(this.#alert, this.#facts, this.#table, this.#more);
    this.#table.hidden = true;
    this.#more.hidden = true;
    this.row = make('tr', { id: `details-${requestId}` }, make('td', { colspan: '6' }, region));
    this.row.hidden = true;
  }

  get isOpen(): boolean {
    return !this.row.hidden;
  }

  /** @returns whether it is open now */
  toggle(): boolean {
    this.row.hidden = !this.row.hidden;
    return this.isOpen;
  }

  /** Asks the service again. @returns `undefined` if it gave no answer, which is then shown here */
  async load(): Promise<ShownExport | undefined> {
    try {
      const files: ExportedFile[] = [];
      let shown: ShownExport | undefined;
      let mayHaveMore = true;
      for (let page = 0; page < this.#pages && mayHaveMore; page += 1) {
        const answer = await this.#service.show(this.#requestId, page);
        shown = answer.shown;
        files.push(...answer.files);
        mayHaveMore = answer.files.length === limits.exportedFilesPerPage;
      }
      showAlert(this.#alert);
      if (shown) this.#show(shown, files);
      this.#more.hidden = !mayHaveMore;
      return shown;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const remedy = error instanceof RefusedError ? error.refusal.remedy : 'Tell the operator.';
      showAlert(this.#alert, error.message, remedy);
      return undefined;
    }
  }

  #show(shown: ShownExport, files: readonly ExportedFile[]): void {
    const { state, reason, sealedAt, settledAt, receipt, recipient, keyFingerprint, requestedAt, bytes } = shown;
    const facts = factList([
      ['State', `${state}. ${explainState(state)}`],
      ['Reason', reason],
      ['Request', shown.requestId],
      ['Requested', moment(requestedAt)],
      ['All files handed out', sealedAt && moment(sealedAt)],
      ['Settled', settledAt && moment(settledAt)],
      ['Staged', `${shown.counts.staged} of ${shown.counts.total}, ${formatBytes(bytes)}`],
      ['Receipt', receipt],
      ['Recipient', recipient],
      ['Key fingerprint (SHA-256)', keyFingerprint],
    ]);
    if (this.#facts.textContent !== facts.textContent) this.#facts.replaceChildren(facts);
    for (const file of files) this.#showFile(file);
    this.#table.hidden = files.length === 0;
  }

  #showFile({ fileId, state, reason, supersededBy, bytes, changedAt }: ExportedFile): void {
    let cells = this.#fileRows.get(fileId);
    if (cells === undefined) {
      cells = Array.from({ length: 4 }, () => make('td'));
      this.#fileRows.set(fileId, cells);
      this.#files.append(make('tr', {}, make('th', { scope: 'row' }, fileId), ...cells));
    }
    const texts = [
      state,
      reason ?? (supersededBy === null ? '' : `written by request ${supersededBy}`),
      bytes === null ? '' : formatBytes(bytes),
      moment(changedAt),
    ];
    for (const [index, cell] of cells.entries()) setText(cell, texts[index] ?? '');
    cells[0]?.setAttribute('data-state', state);
  }
}
