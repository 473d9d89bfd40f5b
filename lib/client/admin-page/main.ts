import { exportStates, isUnderWay, type ListedExport } from '../../contract/export-state.ts';
import { limits } from '../../contract/limits.ts';
import { element, make, show, showAlert } from './dom.ts';
import { exportsTable } from './exports-table.ts';
import { orderForm } from './order-form.ts';
import { connectService, linesOf, RefusedError } from './service.ts';
import { moment, reasonInWords, stateInWords } from './words.ts';

/** Milliseconds between refreshes while something is under way. Each call costs the service the check of a password. */
const soonest = 2_000;
const latest = 30_000;
/** Milliseconds from the last letter until the service is asked. */
const typingMs = 400;
/** Pages that one search reads: a thousand exports. */
const pagesPerSearch = 10;

const service = connectService(location.href, document.documentElement.dataset.archiveKind ?? '');
const form = orderForm(service, sent);
const table = exportsTable(service, orderAgain);
const status = element('status', HTMLElement);
const alertPlace = element('exports-alert', HTMLElement);
const state = element('state', HTMLSelectElement);
const find = element('find', HTMLInputElement);
const newer = element('newer', HTMLButtonElement);
const older = element('older', HTMLButtonElement);
const empty = element('empty', HTMLElement);
state.append(make('option', { value: '' }, 'all'), ...exportStates.map((each) => make('option', {}, each)));

let page = 0;
let pause = soonest;
let timer: ReturnType<typeof setTimeout> | undefined;
/** The newest request that was sent from here, until it is settled. */
let awaited: string | undefined;
/** The number of the newest refresh: answers of older ones come too late. */
let newest = 0;

async function refresh({ keep }: { readonly keep: boolean }): Promise<void> {
  newest += 1;
  const mine = newest;
  clearTimeout(timer);
  try {
    const words = find.value.trim();
    const { listed, hasOlder } = await read(words, () => mine === newest);
    if (mine !== newest) return;
    const isChanged = await table.show(listed, { keep });
    if (mine !== newest) return;
    pause = isChanged ? soonest : Math.min(pause * 1.5, latest);
    followAwaited();
    showAlert(alertPlace);
    showPage(hasOlder);
    empty.hidden = listed.length > 0;
    const further = hasOlder ? ' Older looks further back.' : '';
    const none = state.value === '' ? 'There are no exports here.' : `No export here is ${state.value}.`;
    show(empty, words === '' ? none : `Nothing here matches ${words}.${further}`);
    show(element('freshness', HTMLElement), `as of ${moment(new Date())}`);
    const isMoving = awaited !== undefined || table.listed().some((shown) => isUnderWay(shown.state));
    if (words === '' && isMoving) schedule(pause);
  } catch (error) {
    if (mine !== newest) return;
    showAlert(alertPlace, ...linesOf(error));
    pause = Math.min(pause * 2, latest);
    const { isTemporary = false, retryAfter = 0 } = error instanceof RefusedError ? error.refusal : {};
    if (isTemporary) schedule(Math.max(pause, retryAfter * 1000));
  }
}

/** A page, or what matches among {@link pagesPerSearch} pages. The service itself cannot search. */
async function read(words: string, isWanted: () => boolean) {
  const count = words === '' ? 1 : pagesPerSearch;
  const wanted = exportStates.find((each) => each === state.value);
  const listed: ListedExport[] = [];
  for (let at = page * count; at < (page + 1) * count && isWanted(); at += 1) {
    const found = await service.list(wanted, at);
    listed.push(...found.filter(matches));
    if (found.length < limits.exportsPerPage) return { listed, hasOlder: false };
  }
  return { listed, hasOlder: true };
}

function showPage(hasOlder: boolean): void {
  const focused = document.activeElement;
  newer.disabled = page === 0;
  older.disabled = !hasOlder;
  // A disabled button loses the focus.
  if (focused instanceof HTMLButtonElement && focused.disabled) element('exports-heading', HTMLElement).focus();
  show(element('page', HTMLElement), `Page ${page + 1}`);
}

/** Says how the request ended, for readers who do not see the table. The form keeps an order that is rejected. */
function followAwaited(): void {
  const reached = table.listed().find(({ requestId }) => requestId === awaited);
  if (reached === undefined) return;
  if (reached.state !== 'rejected') form.accepted();
  if (isUnderWay(reached.state)) return;
  const why = reached.reason === null ? '' : ` ${reasonInWords(reached.reason)}`;
  say(`Request ${awaited} is ${reached.state}.${why} ${stateInWords[reached.state]}`, reached.state);
  awaited = undefined;
}

/** @param about state that gives the text its colour */
function say(text: string, about = ''): void {
  status.dataset.state = about;
  show(status, text);
}

function sent(requestId: string): void {
  awaited = requestId;
  state.value = '';
  find.value = '';
  say(`The export was requested. Request ${requestId}. Its row appears when the service has looked at it.`);
  turn(0);
}

function orderAgain({ dataset, file }: ListedExport): void {
  const id = file ?? dataset ?? '';
  form.fill(id, file === null ? 'datasetId' : 'fileId');
  say(`Paste the visa and the public key for another export of ${id}.`);
}

function schedule(milliseconds: number): void {
  clearTimeout(timer);
  // A tab in the background asks when the reader comes back to it.
  timer = setTimeout(() => (document.hidden ? schedule(soonest) : void refresh({ keep: true })), milliseconds);
}

function turn(to: number): void {
  page = to;
  pause = soonest;
  void refresh({ keep: false });
}

/** Shows which of the rows match, and asks for the others when the reader stops typing. */
function filter(): void {
  newest += 1;
  clearTimeout(timer);
  timer = setTimeout(() => turn(0), typingMs);
  void table.show(table.listed().filter(matches), { keep: false });
}

/** Whether an id or the recipient has the words of the search in it, in any case. */
function matches({ requestId, dataset, file, recipient }: ListedExport): boolean {
  const words = find.value.trim().toLowerCase();
  return [requestId, dataset, file, recipient].some((text) => text?.toLowerCase().includes(words) === true);
}

element('refresh', HTMLButtonElement).onclick = () => turn(page);
newer.onclick = () => turn(page - 1);
older.onclick = () => turn(page + 1);
state.onchange = () => turn(0);
find.oninput = filter;
setInterval(table.tick, 10_000);

// Without https, every network on the way reads the password, and the browser computes no fingerprints.
if (isSecureContext) void refresh({ keep: false });
else
  showAlert(alertPlace, 'This page was not opened with https. Others may read your password.', 'Open it with https.');
