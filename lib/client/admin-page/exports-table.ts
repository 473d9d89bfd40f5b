import { formatBytes } from '../../common/text.ts';
import { type ExportState, exportStates, isUnderWay, type ListedExport } from '../../contract/export-state.ts';
import { limits } from '../../contract/limits.ts';
import { element, make, setText, setTexts } from './dom.ts';
import { exportDetails } from './export-details.ts';
import type { RecipientLabels } from './recipients.ts';
import type { Service } from './service.ts';
import { moment, span, stagedOf } from './words.ts';

interface Row {
  readonly summary: HTMLTableRowElement;
  readonly button: HTMLButtonElement;
  readonly cells: readonly HTMLTableCellElement[];
  readonly details: ReturnType<typeof exportDetails>;
  shown: ListedExport;
}

/**
 * The rows of the table. A row that already exists keeps its elements, so that a refresh moves neither the focus nor what the
 * reader has opened.
 * @param onAgain the reader wants this export once more
 */
export function exportsTable(service: Service, labels: RecipientLabels, onAgain: (shown: ListedExport) => void) {
  const body = element('rows', HTMLTableSectionElement);
  const rows = new Map<string, Row>();
  const textOf = () => [...rows.values()].map(({ shown }) => JSON.stringify(shown)).join();

  const update = (row: Row, shown: ListedExport) => {
    row.shown = shown;
    const { requestId, state, reason, dataset, file, bytes, requestedAt, recipient } = shown;
    setText(row.button, file ?? dataset ?? requestId);
    const [stateCell, , , ageCell] = row.cells;
    setTexts(row.cells, [
      reason === null ? state : `${state} (${reason})`,
      stagedOf(shown),
      bytes === null ? '' : formatBytes(bytes),
      span(Date.now() - new Date(requestedAt).getTime()),
      `${labels.of(recipient)} ${recipient?.slice(0, 12) ?? ''}`.trim(),
    ]);
    stateCell?.setAttribute('data-state', state);
    ageCell?.setAttribute('title', moment(requestedAt));
  };

  /** New ages, without a call. */
  const tick = () => {
    for (const row of rows.values()) update(row, row.shown);
  };

  const add = (shown: ListedExport): Row => {
    const details = exportDetails(service, shown, { labels, onAgain, onLabel: tick });
    const controls = { 'aria-expanded': 'false', 'aria-controls': details.row.id };
    const button = make('button', { type: 'button', class: 'open', ...controls });
    const heading = make('th', { scope: 'row' }, button);
    const kinds = ['', 'number', 'number wide', 'number words', 'wide words'];
    const cells = kinds.map((kind) => make('td', { class: kind }));
    const row: Row = { summary: make('tr', {}, heading, ...cells), button, cells, details, shown };
    button.addEventListener('click', () => {
      const isOpen = details.toggle();
      button.setAttribute('aria-expanded', String(isOpen));
      if (isOpen) void details.load();
    });
    rows.set(shown.requestId, row);
    return row;
  };

  return {
    tick,

    isUnderWay: () => [...rows.values()].some(({ shown }) => isUnderWay(shown.state)),

    /** State of an export that has a row. */
    stateOf: (requestId: string) => rows.get(requestId)?.shown.state,

    /**
     * Shows these exports, the newest first.
     * @param keep whether rows stay that are open or have the focus, though they are no longer in the list
     * @returns whether anything is another than before
     */
    async show(listed: readonly ListedExport[], { keep }: { readonly keep: boolean }): Promise<boolean> {
      const before = textOf();
      const wanted = new Set(listed.map(({ requestId }) => requestId));
      for (const [requestId, { summary, details }] of rows) {
        const isInUse = !details.row.hidden || summary.contains(document.activeElement);
        if (wanted.has(requestId) || (keep && isInUse)) continue;
        summary.remove();
        details.row.remove();
        rows.delete(requestId);
      }
      let next = body.firstElementChild;
      for (const shown of listed) {
        const known = rows.get(shown.requestId);
        const row = known ?? add(shown);
        // Rows that stay are never moved: a moved element loses the focus.
        if (known === undefined) body.insertBefore(row.summary, next).after(row.details.row);
        else next = row.details.row.nextElementSibling;
        update(row, shown);
      }
      // One after the other: each call costs the service the check of a password.
      // A copy: another call of this method may put in rows meanwhile, which it answers for.
      for (const row of [...rows.values()]) {
        const { summary, details, shown } = row;
        if (!summary.isConnected) continue;
        if (wanted.has(shown.requestId) && (details.row.hidden || details.isCurrent(shown))) continue;
        const newest = await details.load();
        if (newest) update(row, newest);
      }
      return textOf() !== before;
    },
  };
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
