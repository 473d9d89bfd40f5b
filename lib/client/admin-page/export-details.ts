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
interface RowActions {
  readonly labels: RecipientLabels;
  /** Called when a recipient gets another label. */
  readonly onLabel: () => void;
  readonly onAgain: (shown: ListedExport) => void;
}

/** What a row opens into: the facts of an export, and its files. */
export function exportDetails(service: Service, about: ListedExport, { labels, onLabel, onAgain }: RowActions) {
  const { requestId, dataset, file, recipient } = about;
  const name = file ?? dataset ?? requestId;
  const alert = make('div');
  const factsPlace = make('div');
  const fileRows = new Map<string, readonly HTMLTableCellElement[]>();
  const body = make('tbody');
  const head = make('tr', {}, ...columns.map(([title, kind]) => make('th', { scope: 'col', class: kind }, title)));
  const table = make('table', { 'aria-label': `Files of ${name}` }, make('thead', {}, head), body);
  const more = make('button', { type: 'button' }, 'More files');
  const label = make('input', { maxlength: '60', autocomplete: 'off', spellcheck: 'false' });
  let pages = 1;
  /** The number of the newest load: answers of older ones come too late. */
  let newest = 0;
  /** The export as it was shown last. */
  let last: ListedExport | undefined;

  const showFacts = (shown: ShownExport) => {
    const { state, reason, settledAt, receipt, keyFingerprint, requestedAt, bytes, counts } = shown;
    const facts = factList([
      ['State', `${state}. ${explainState(state)}`],
      ['Reason', reason && reasonInWords(reason)],
      ['Request', shown.requestId],
      ['Requested', moment(requestedAt)],
      ['Settled', settledAt && moment(settledAt)],
      ['Staged', `${counts.staged} of ${counts.total}, ${formatBytes(bytes)}`],
      ['Receipt', receipt],
      ['Recipient', shown.recipient],
      ['Key fingerprint (SHA-256)', keyFingerprint],
    ]);
    if (factsPlace.textContent !== facts.textContent) factsPlace.replaceChildren(facts);
  };

  const showFile = ({ fileId, state, reason, supersededBy, bytes, changedAt }: ExportedFile) => {
    let cells = fileRows.get(fileId);
    if (cells === undefined) {
      cells = columns.slice(1).map(([, kind]) => make('td', { class: kind }));
      fileRows.set(fileId, cells);
      body.append(make('tr', {}, make('th', { scope: 'row' }, fileId), ...cells));
    }
    setTexts(cells, [
      state,
      reason === null ? (supersededBy === null ? '' : `written by request ${supersededBy}`) : reasonInWords(reason),
      bytes === null ? '' : formatBytes(bytes),
      moment(changedAt),
    ]);
    cells[0]?.setAttribute('data-state', state);
  };

  /** Asks the service again. @returns `undefined` if it gave no answer, which is then shown here, or one that came too late */
  const load = async (): Promise<ShownExport | undefined> => {
    newest += 1;
    const mine = newest;
    try {
      let shown: ShownExport | undefined;
      let mayHaveMore = true;
      for (let page = 0; page < pages && mayHaveMore; page += 1) {
        const { shown: found, files } = await service.show(requestId, page);
        if (mine !== newest) return undefined;
        if (page === 0) showFacts(found);
        shown ??= found;
        for (const each of files) showFile(each);
        table.hidden = fileRows.size === 0;
        mayHaveMore = files.length === limits.exportedFilesPerPage;
      }
      showAlert(alert);
      more.hidden = !mayHaveMore;
      last = shown;
      return shown;
    } catch (error) {
      if (mine !== newest) return undefined;
      if (!(error instanceof Error)) throw error;
      showAlert(alert, error.message, error instanceof RefusedError ? error.refusal.remedy : 'Tell the operator.');
      return undefined;
    }
  };

  const region = make(
    'div',
    { role: 'region', 'aria-label': `Export of ${name}`, class: 'details' },
    alert,
    factsPlace,
  );
  if (recipient !== null && labels.isKept) {
    label.addEventListener('change', () => {
      labels.set(recipient, label.value);
      onLabel();
    });
    const help = make('span', { class: 'quiet' }, 'Only this browser keeps it.');
    region.append(make('p', {}, make('label', {}, 'Label of the recipient ', label), ' ', help));
  }
  if (file !== null || dataset !== null) {
    const again = make('button', { type: 'button' }, 'Export again');
    again.addEventListener('click', () => onAgain(about));
    region.append(make('p', {}, again));
  }
  more.addEventListener('click', () => {
    pages += 1;
    void load();
  });
  region.append(table, more);
  const row = make('tr', { id: `details-${requestId}` }, make('td', { colspan: '6' }, region));
  for (const hidden of [table, more, row]) hidden.hidden = true;
  return {
    row,
    load,

    /** Whether the files are shown as they are in this state of the export. */
    isCurrent: ({ state, generation }: ListedExport) =>
      !isUnderWay(state) && last?.state === state && last.generation === generation,

    /** @returns whether it is open now */
    toggle(): boolean {
      row.hidden = !row.hidden;
      label.value = labels.of(recipient);
      return !row.hidden;
    },
  };
}
