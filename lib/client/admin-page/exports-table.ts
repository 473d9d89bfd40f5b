import { formatBytes } from '../../common/text.ts';
import type { ListedExport } from '../../contract/export-state.ts';
import { element, make, show } from './dom.ts';
import { exportDetails } from './export-details.ts';
import type { Service } from './service.ts';
import { moment, span, stagedOf } from './words.ts';

/**
 * The rows of the table. A row keeps its elements, so that a refresh moves neither the focus nor what the reader has opened.
 * @param onAgain the reader wants this export once more
 */
export function exportsTable(service: Service, onAgain: (shown: ListedExport) => void) {
  const body = element('rows', HTMLTableSectionElement);
  const rows = new Map<string, ReturnType<typeof add>>();
  const listed = () => [...rows.values()].map(({ shown }) => shown);

  const add = (first: ListedExport) => {
    const details = exportDetails(service, first, onAgain);
    const controls = { 'aria-expanded': 'false', 'aria-controls': details.row.id };
    const button = make('button', { type: 'button', class: 'open', ...controls });
    const cell = (kind: string) => make('td', { class: kind });
    const [state, staged, size, age, recipient] = [
      ...([cell(''), cell('number'), cell('number wide'), cell('number words'), cell('wide words')] as const),
    ];
    const summary = make('tr', {}, make('th', { scope: 'row' }, button), state, staged, size, age, recipient);
    const row = {
      ...{ summary, details, shown: first },
      update(shown: ListedExport): void {
        row.shown = shown;
        show(button, shown.file ?? shown.dataset ?? shown.requestId);
        show(state, shown.reason === null ? shown.state : `${shown.state} (${shown.reason})`);
        show(staged, stagedOf(shown));
        show(size, shown.bytes === null ? '' : formatBytes(shown.bytes));
        show(age, span(Date.now() - new Date(shown.requestedAt).getTime()));
        show(recipient, shown.recipient?.slice(0, 12) ?? '');
        state.dataset.state = shown.state;
        age.title = moment(shown.requestedAt);
      },
    };
    button.addEventListener('click', () => {
      const isOpen = details.toggle();
      button.setAttribute('aria-expanded', String(isOpen));
      if (isOpen) void details.load();
    });
    return row;
  };

  return {
    listed,

    /** Shows the ages as they are now, without a call. */
    tick(): void {
      for (const row of rows.values()) row.update(row.shown);
    },

    /**
     * Shows these exports, the newest first.
     * @param keep whether rows stay that are open or have the focus, though they are no longer in the list
     * @returns whether anything is another than before
     */
    async show(wanted: readonly ListedExport[], { keep }: { readonly keep: boolean }): Promise<boolean> {
      const before = JSON.stringify(listed());
      const ids = new Set(wanted.map(({ requestId }) => requestId));
      for (const [requestId, { summary, details }] of rows) {
        const isInUse = !details.row.hidden || summary.contains(document.activeElement);
        if (ids.has(requestId) || (keep && isInUse)) continue;
        for (const element of [summary, details.row]) element.remove();
        rows.delete(requestId);
      }
      let next = body.firstElementChild;
      for (const shown of wanted) {
        const known = rows.get(shown.requestId);
        const row = known ?? add(shown);
        rows.set(shown.requestId, row);
        // Rows that stay are never moved: a moved element loses the focus.
        if (known === undefined) body.insertBefore(row.summary, next).after(row.details.row);
        else next = row.details.row.nextElementSibling;
        row.update(shown);
      }
      // One after the other: each call costs the service the check of a password.
      // A copy: another call of this method may put in rows meanwhile, which it answers for.
      for (const row of [...rows.values()]) {
        const { summary, details, shown } = row;
        if (!summary.isConnected) continue;
        if (ids.has(shown.requestId) && (details.row.hidden || details.isCurrent(shown))) continue;
        const newest = await details.load();
        if (newest) row.update(newest);
      }
      return JSON.stringify(listed()) !== before;
    },
  };
}
