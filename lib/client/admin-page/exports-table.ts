import { formatBytes } from '../../common/text.ts';
import { type ExportState, exportStates, isUnderWay, type ListedExport } from '../../contract/export-state.ts';
import { limits } from '../../contract/limits.ts';
import { element, make, setText, setTexts } from './dom.ts';
import { ExportDetails, type RowActions } from './export-details.ts';
import type { RecipientLabels } from './recipients.ts';
import type { Service } from './service.ts';
import { moment, span, stagedOf } from './words.ts';

interface Row {
  readonly summary: HTMLTableRowElement;
  readonly button: HTMLButtonElement;
  readonly cells: readonly HTMLTableCellElement[];
  readonly details: ExportDetails;
  shown: ListedExport;
}

/**
 * The rows of the table. A row that is there already keeps its elements, so that a refresh moves neither the focus nor what the
 * reader has opened.
 */
export class ExportsTable {
  readonly #service: Service;
  readonly #actions: RowActions;
  readonly #body = element('rows', HTMLTableSectionElement);
  readonly #rows = new Map<string, Row>();

  /** @param onAgain the reader wants this export once more */
  constructor(service: Service, labels: RecipientLabels, onAgain: (shown: ListedExport) => void) {
    this.#service = service;
    this.#actions = { labels, onAgain, onLabel: () => this.tick() };
  }

  get isUnderWay(): boolean {
    return [...this.#rows.values()].some(({ shown }) => isUnderWay(shown.state));
  }

  /**
   * Shows these exports, the newest first.
   * @param keep whether rows stay that are open or have the focus, though they are no longer in the list
   * @returns whether anything is another than before
   */
  async show(listed: readonly ListedExport[], { keep }: { readonly keep: boolean }): Promise<boolean> {
    const before = this.#text();
    const wanted = new Set(listed.map(({ requestId }) => requestId));
    for (const [requestId, row] of this.#rows) {
      if (wanted.has(requestId) || (keep && this.#isInUse(row))) continue;
      row.summary.remove();
      row.details.row.remove();
      this.#rows.delete(requestId);
    }
    let next = this.#body.firstElementChild;
    for (const shown of listed) {
      const known = this.#rows.get(shown.requestId);
      const row = known ?? this.#add(shown);
      // Rows that stay are never moved: a moved element loses the focus.
      if (known === undefined) this.#body.insertBefore(row.summary, next).after(row.details.row);
      else next = row.details.row.nextElementSibling;
      this.#update(row, shown);
    }
    // One after the other: each call costs the service the check of a password.
    // A copy: another call of this method may put in rows meanwhile, which it answers for.
    for (const row of [...this.#rows.values()]) {
      if (!row.summary.isConnected) continue;
      if (wanted.has(row.shown.requestId) && (!row.details.isOpen || row.details.isCurrent(row.shown))) continue;
      const newest = await row.details.load();
      if (newest) this.#update(row, newest);
    }
    return this.#text() !== before;
  }

  /** New ages, without a call. */
  tick(): void {
    for (const row of this.#rows.values()) this.#update(row, row.shown);
  }

  /** State of an export that has a row. */
  stateOf(requestId: string): ExportState | undefined {
    return this.#rows.get(requestId)?.shown.state;
  }

  #text(): string {
    return [...this.#rows.values()].map(({ shown }) => JSON.stringify(shown)).join();
  }

  #isInUse({ details, summary }: Row): boolean {
    return details.isOpen || summary.contains(document.activeElement);
  }

  #add(shown: ListedExport): Row {
    const details = new ExportDetails(this.#service, shown, this.#actions);
    const button = make('button', {
      type: 'button',
      class: 'open',
      'aria-expanded': 'false',
      'aria-controls': details.row.id,
    });
    const heading = make('th', { scope: 'row' }, button);
    const cells = ['', 'number', 'number wide', 'number words', 'wide words'].map((kind) =>
      make('td', { class: kind }),
    );
    const row: Row = { summary: make('tr', {}, heading, ...cells), button, cells, details, shown };
    button.addEventListener('click', () => {
      const isOpen = details.toggle();
      button.setAttribute('aria-expanded', String(isOpen));
      if (isOpen) void details.load();
    });
    this.#rows.set(shown.requestId, row);
    return row;
  }

  #update(row: Row, shown: ListedExport): void {
    row.shown = shown;
    const { requestId, state, reason, dataset, file, bytes, requestedAt, recipient } = shown;
    setText(row.button, file ?? dataset ?? requestId);
    const [stateCell, , , ageCell] = row.cells;
    setTexts(row.cells, [
      reason === null ? state : `${state} (${reason})`,
      stagedOf(shown),
      bytes === null ? '' : formatBytes(bytes),
      span(Date.now() - new Date(requestedAt).getTime()),
      `${this.#actions.labels.of(recipient)} ${recipient?.slice(0, 12) ?? ''}`.trim(),
    ]);
    stateCell?.setAttribute('data-state', state);
    ageCell?.setAttribute('title', moment(requestedAt));
  }
}

/** The choices of the filter. */
export const stateChoices: readonly (readonly [string, string])[] = [
  ['', 'all'],
  ...exportStates.map((state) => [state, state] as const),
];

export function stateOf(choice: string): ExportState | undefined {
  return exportStates.find((state) => state === choice);
}

/** Whether there may be an older page. */
export function mayHaveMore(listed: readonly ListedExport[]): boolean {
  return listed.length === limits.exportsPerPage;
}
