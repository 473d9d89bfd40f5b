import { isUnderWay, type ListedExport } from '../../contract/export-state.ts';
import { element, make, setText, showAlert } from './dom.ts';
import { exportsTable, mayHaveMore, stateChoices, stateOf } from './exports-table.ts';
import { orderForm } from './order-form.ts';
import { browserStore, recipientLabels } from './recipients.ts';
import { connectService, RefusedError } from './service.ts';
import { explainState, moment } from './words.ts';

/** Milliseconds between refreshes while something is under way. Each call costs the service the check of a password. */
const soonest = 2_000;
const latest = 30_000;
/** Pages that one search reads: a thousand exports. */
const pagesPerSearch = 10;

const service = connectService(location.href, document.documentElement.dataset.archiveKind ?? '');
const labels = recipientLabels(browserStore());
const form = orderForm(service, sent);
const table = exportsTable(service, labels, orderAgain);
const status = element('status', HTMLElement);
const alertPlace = element('exports-alert', HTMLElement);
const state = element('state', HTMLSelectElement);
const find = element('find', HTMLInputElement);
const newer = element('newer', HTMLButtonElement);
const older = element('older', HTMLButtonElement);
state.append(...stateChoices.map(([value, label]) => make('option', { value }, label)));

let page = 0;
let pause = soonest;
let timer: ReturnType<typeof setTimeout> | undefined;
/** The newest request that was sent from here, until it is settled. */
let awaited: string | undefined;
/** Whether a refresh waits until the reader comes back to this tab. */
let isDue = false;
/** The number of the newest refresh: answers of older ones come too late. */
let newest = 0;

async function refresh({ keep }: { readonly keep: boolean }): Promise<void> {
  newest += 1;
  const mine = newest;
  clearTimeout(timer);
  isDue = false;
  try {
    const words = find.value.trim();
    const { listed, hasOlder } = await (words === '' ? listPage() : search(words, () => mine === newest));
    if (mine !== newest) return;
    const isChanged = await table.show(listed, { keep });
    if (mine !== newest) return;
    pause = isChanged ? soonest : Math.min(pause * 1.5, latest);
    announceAwaited();
    showAlert(alertPlace);
    showPage(hasOlder);
    const empty = element('empty', HTMLElement);
    empty.hidden = listed.length > 0;
    setText(empty, nothingHere(words, hasOlder));
    setText(element('freshness', HTMLElement), `as of ${moment(new Date())}`);
    if (words === '' && (table.isUnderWay() || awaited !== undefined)) schedule(pause);
  } catch (error) {
    if (mine !== newest) return;
    if (!(error instanceof Error)) throw error;
    const refusal = error instanceof RefusedError ? error.refusal : undefined;
    showAlert(alertPlace, error.message, refusal?.remedy ?? 'Tell the operator.');
    pause = Math.min(pause * 2, latest);
    if (refusal?.isTemporary) schedule(Math.max(pause, (refusal.retryAfter ?? 0) * 1000));
  }
}

interface Listing {
  readonly listed: readonly ListedExport[];
  readonly hasOlder: boolean;
}

async function listPage(): Promise<Listing> {
  const listed = await service.list(stateOf(state.value), page);
  return { listed, hasOlder: mayHaveMore(listed) };
}

/** What matches among the exports of {@link pagesPerSearch} pages. The service has no names to search for: the labels are here. */
async function search(words: string, isWanted: () => boolean): Promise<Listing> {
  const found: ListedExport[] = [];
  const first = page * pagesPerSearch;
  for (let at = first; at < first + pagesPerSearch && isWanted(); at += 1) {
    const listed = await service.list(stateOf(state.value), at);
    found.push(...listed.filter((one) => labels.matches(one, words)));
    if (!mayHaveMore(listed)) return { listed: found, hasOlder: false };
  }
  return { listed: found, hasOlder: true };
}

function nothingHere(words: string, hasOlder: boolean): string {
  if (words !== '') return `Nothing here matches ${words}.${hasOlder ? ' Older looks further back.' : ''}`;
  return state.value === '' ? 'There are no exports here.' : `No export here is ${state.value}.`;
}

function showPage(hasOlder: boolean): void {
  const focused = document.activeElement;
  newer.disabled = page === 0;
  older.disabled = !hasOlder;
  // A disabled button loses the focus.
  if (focused instanceof HTMLButtonElement && focused.disabled) element('exports-heading', HTMLElement).focus();
  setText(element('page', HTMLElement), `Page ${page + 1}`);
}

/** For readers who do not see the table. */
function announceAwaited(): void {
  const reached = awaited === undefined ? undefined : table.stateOf(awaited);
  if (reached === undefined || isUnderWay(reached)) return;
  say(`Request ${awaited} is ${reached}. ${explainState(reached)}`, reached);
  awaited = undefined;
}

/** @param about state that gives the text its colour */
function say(text: string, about = ''): void {
  status.dataset.state = about;
  setText(status, text);
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
  timer = setTimeout(() => {
    if (document.hidden) isDue = true;
    else void refresh({ keep: true });
  }, milliseconds);
}

function turn(to: number): void {
  page = to;
  pause = soonest;
  void refresh({ keep: false });
}

document.addEventListener('visibilitychange', () => {
  if (!document.hidden && isDue) void refresh({ keep: true });
});
element('refresh', HTMLButtonElement).addEventListener('click', () => turn(page));
newer.addEventListener('click', () => turn(page - 1));
older.addEventListener('click', () => turn(page + 1));
state.addEventListener('change', () => turn(0));
find.addEventListener('change', () => turn(0));
setInterval(() => {
  if (!document.hidden) table.tick();
}, 10_000);

// Without https, every network on the way reads the password, and the browser computes no fingerprints.
if (isSecureContext) void refresh({ keep: false });
else
  showAlert(alertPlace, 'This page was not opened with https. Others may read your password.', 'Open it with https.');
