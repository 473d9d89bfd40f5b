import { formatBytes } from '../../common/text.ts';
import { type ExportedFile, isUnderWay, type ListedExport, type ShownExport } from '../../contract/export-state.ts';
import { limits } from '../../contract/limits.ts';
import { factList, make, setTexts, showAlert } from './dom.ts';
import type { RecipientLabels } from './recipients.ts';
import { RefusedError, type Service } from './service.ts';
import { explainState, moment, reasonInWords } from './words.ts';

const columns = [
  ['File', ''],
  ['State', ''],
  ['Reason', ''],
  ['Size', 'number wide'],
  ['Since', 'words'],
] as const;

/** What the controls of a row need from the rest of the page. */
export interface RowActions {
  readonly labels: RecipientLabels;
  /** Called when a recipient gets another label. */
  readonly onLabel: () => void;
  readonly onAgain: (shown: ListedExport) => void;
}

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
  readonly #label = make('input', { maxlength: '60', autocomplete: 'off', spellcheck: 'false' });
  readonly #showLabel: () => void;
  readonly #fileRows = new Map<string, readonly HTMLTableCellElement[]>();
  #pages = 1;
  /** The number of the newest load: answers of older ones come too late. */
  #newest = 0;
  /** The export as it was shown last. */
  #shown: ListedExport | undefined;

  constructor(service: Service, shown: ListedExport, { labels, onLabel, onAgain }: RowActions) {
    const { requestId, dataset, file, recipient } = shown;
    this.#service = service;
    this.#requestId = requestId;
    const name = file ?? dataset ?? requestId;
    this.#files = make('tbody');
    const head = make('tr', {}, ...columns.map(([title, kind]) => make('th', { scope: 'col', class: kind }, title)));
    this.#table = make('table', { 'aria-label': `Files of ${name}` }, make('thead', {}, head), this.#files);
    this.#more = make('button', { type: 'button' }, 'More files');
    this.#more.addEventListener('click', () => {
      this.#pages += 1;
      void this.load();
    });
    const region = make('div', { role: 'region', 'aria-label': `Export of ${name}`, class: 'details' });
    region.append(this.#alert, this.#facts);
    this.#showLabel = () => {
      this.#label.value = labels.of(recipient);
    };
    if (recipient !== null && labels.isKept) {
      this.#label.addEventListener('change', () => {
        labels.set(recipient, this.#label.value);
        onLabel();
      });
      const help = make('span', { class: 'quiet' }, 'Only this browser keeps it.');
      region.append(make('p', {}, make('label', {}, 'Label of the recipient ', this.#label), ' ', help));
    }
    if (file !== null || dataset !== null) {
      const again = make('button', { type: 'button' }, 'Export again');
      again.addEventListener('click', () => onAgain(shown));
      region.append(make('p', {}, again));
    }
    region.append(this.#table, this.#more);
    this.#table.hidden = true;
    this.#more.hidden = true;
    this.row = make('tr', { id: `details-${requestId}` }, make('td', { colspan: '6' }, region));
    this.row.hidden = true;
  }

  get isOpen(): boolean {
    return !this.row.hidden;
  }

  /** Whether the files are shown as they are in this state of the export. */
  isCurrent({ state, generation }: ListedExport): boolean {
    return !isUnderWay(state) && this.#shown?.state === state && this.#shown.generation === generation;
  }

  /** @returns whether it is open now */
  toggle(): boolean {
    this.row.hidden = !this.row.hidden;
    this.#showLabel();
    return this.isOpen;
  }

  /** Asks the service again. @returns `undefined` if it gave no answer, which is then shown here, or one that came too late */
  async load(): Promise<ShownExport | undefined> {
    this.#newest += 1;
    const mine = this.#newest;
    try {
      const { shown, files } = await this.#service.show(this.#requestId, 0);
      if (mine !== this.#newest) return undefined;
      this.#showFacts(shown);
      let mayHaveMore = this.#showFiles(files);
      for (let page = 1; page < this.#pages && mayHaveMore; page += 1) {
        const next = await this.#service.show(this.#requestId, page);
        if (mine !== this.#newest) return undefined;
        mayHaveMore = this.#showFiles(next.files);
      }
      showAlert(this.#alert);
      this.#more.hidden = !mayHaveMore;
      this.#shown = shown;
      return shown;
    } catch (error) {
      if (mine !== this.#newest) return undefined;
      if (!(error instanceof Error)) throw error;
      const remedy = error instanceof RefusedError ? error.refusal.remedy : 'Tell the operator.';
      showAlert(this.#alert, error.message, remedy);
      return undefined;
    }
  }

  #showFacts(shown: ShownExport): void {
    const { state, reason, sealedAt, settledAt, receipt, recipient, keyFingerprint, requestedAt, bytes } = shown;
    const facts = factList([
      ['State', `${state}. ${explainState(state)}`],
      ['Reason', reason && reasonInWords(reason)],
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
  }

  /** @returns whether there may be another page */
  #showFiles(files: readonly ExportedFile[]): boolean {
    for (const file of files) this.#showFile(file);
    this.#table.hidden = this.#fileRows.size === 0;
    return files.length === limits.exportedFilesPerPage;
  }

  #showFile({ fileId, state, reason, supersededBy, bytes, changedAt }: ExportedFile): void {
    let cells = this.#fileRows.get(fileId);
    if (cells === undefined) {
      cells = columns.slice(1).map(([, kind]) => make('td', { class: kind }));
      this.#fileRows.set(fileId, cells);
      this.#files.append(make('tr', {}, make('th', { scope: 'row' }, fileId), ...cells));
    }
    setTexts(cells, [
      state,
      reason === null ? (supersededBy === null ? '' : `written by request ${supersededBy}`) : reasonInWords(reason),
      bytes === null ? '' : formatBytes(bytes),
      moment(changedAt),
    ]);
    cells[0]?.setAttribute('data-state', state);
  }
}
