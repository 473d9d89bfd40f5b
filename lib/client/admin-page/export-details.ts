import { formatBytes } from '../../common/text.ts';
import { type ExportedFile, isUnderWay, type ListedExport, type ShownExport } from '../../contract/export-state.ts';
import { limits } from '../../contract/limits.ts';
import { factList, make, show, showAlert } from './dom.ts';
import { linesOf, type Service } from './service.ts';
import { moment, reasonInWords, stagedOf, stateInWords } from './words.ts';

const columns = { File: '', State: '', Reason: '', Size: 'number wide', Since: 'words' } as const;

/** What a row opens into: the facts of an export, and its files. `onAgain`: the reader wants it once more. */
export function exportDetails(service: Service, about: ListedExport, onAgain: (shown: ListedExport) => void) {
  const { requestId, dataset, file } = about;
  const name = file ?? dataset ?? requestId;
  const alert = make('div');
  const factsPlace = make('div');
  const filesPlace = make('div');
  const more = make('button', { type: 'button' }, 'More files');
  let pages = 1;
  /** The number of the newest load: answers of older ones come too late. */
  let newest = 0;
  /** The export as it was shown last. */
  let last: ListedExport | undefined;

  /** Asks the service again. @returns `undefined` if it gave no answer, which is then shown here, or one that came too late */
  const load = async (): Promise<ShownExport | undefined> => {
    newest += 1;
    const mine = newest;
    try {
      let { shown, files } = await service.show(requestId, 0);
      const all = [...files];
      for (let page = 1; page < pages && files.length === limits.exportedFilesPerPage; page += 1) {
        ({ files } = await service.show(requestId, page));
        all.push(...files);
      }
      if (mine !== newest) return undefined;
      show(factsPlace, factsOf(shown));
      show(filesPlace, ...(all.length === 0 ? [] : [tableOf(name, all)]));
      showAlert(alert);
      more.hidden = files.length < limits.exportedFilesPerPage;
      last = shown;
      return shown;
    } catch (error) {
      if (mine === newest) showAlert(alert, ...linesOf(error));
      return undefined;
    }
  };

  const named = { role: 'region', 'aria-label': `Export of ${name}`, class: 'details' };
  const region = make('div', named, alert, factsPlace);
  if (file !== null || dataset !== null) {
    const again = make('button', { type: 'button' }, 'Export again');
    again.onclick = () => onAgain(about);
    region.append(make('p', {}, again));
  }
  more.onclick = () => {
    pages += 1;
    void load();
  };
  region.append(filesPlace, more);
  const row = make('tr', { id: `details-${requestId}` }, make('td', { colspan: '6' }, region));
  for (const hidden of [more, row]) hidden.hidden = true;
  return {
    row,
    load,

    /** Whether the files are shown as they are in this state of the export. */
    isCurrent: ({ state, generation }: ListedExport) =>
      !isUnderWay(state) && last?.state === state && last.generation === generation,

    /** @returns whether it is open now */
    toggle(): boolean {
      row.hidden = !row.hidden;
      return !row.hidden;
    },
  };
}

function factsOf(shown: ShownExport): HTMLElement {
  const { state, reason, settledAt, receipt, keyFingerprint, requestedAt, bytes } = shown;
  return factList([
    ['State', `${state}. ${stateInWords[state]}`],
    ['Reason', reason && reasonInWords(reason)],
    ['Request', shown.requestId],
    ['Requested', moment(requestedAt)],
    ['Settled', settledAt && moment(settledAt)],
    ['Staged', `${stagedOf(shown)}, ${formatBytes(bytes)}`],
    ['Receipt', receipt],
    ['Recipient', shown.recipient],
    ['Key fingerprint (SHA-256)', keyFingerprint],
  ]);
}

function tableOf(name: string, files: readonly ExportedFile[]): HTMLElement {
  const titles = Object.entries(columns).map(([title, kind]) => make('th', { scope: 'col', class: kind }, title));
  const rows = files.map(({ fileId, state, reason, supersededBy, bytes, changedAt }) => {
    const why = supersededBy === null ? '' : `written by request ${supersededBy}`;
    return make(
      'tr',
      {},
      make('th', { scope: 'row' }, fileId),
      make('td', { 'data-state': state }, state),
      make('td', {}, reason === null ? why : reasonInWords(reason)),
      make('td', { class: columns.Size }, bytes === null ? '' : formatBytes(bytes)),
      make('td', { class: columns.Since }, moment(changedAt)),
    );
  });
  const head = make('thead', {}, make('tr', {}, ...titles));
  return make('table', { 'aria-label': `Files of ${name}` }, head, make('tbody', {}, ...rows));
}
