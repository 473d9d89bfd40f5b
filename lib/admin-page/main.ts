import { element, make, setText, showAlert } from './dom.ts';
import { ExportsTable, mayHaveMore, stateChoices, stateOf } from './exports-table.ts';
import { OrderForm } from './order-form.ts';
import { RefusedError, Service } from './service.ts';

/** Milliseconds between refreshes while something is under way. Each call costs the service the check of a password. */
const soonest = 2_000;
const latest = 30_000;

const service = new Service(location.href, document.documentElement.dataset.archiveKind ?? '');
const table = new ExportsTable(service);
const status = element('status', HTMLElement);
const alertPlace = element('exports-alert', HTMLElement);
const state = element('state', HTMLSelectElement);
const newer = element('newer', HTMLButtonElement);
const older = element('older', HTMLButtonElement);
state.append(...stateChoices.map(([value, label]) => make('option', { value }, label)));

let page = 0;
let pause = soonest;
let timer: ReturnType<typeof setTimeout> | undefined;
/** A request that was sent from here and is not in the list yet. */
let awaited: string | undefined;
/** The number of the newest refresh: answers of older ones come too late. */
let newest = 0;

async function refresh({ keep }: { readonly keep: boolean }): Promise<void> {
  newest += 1;
  const mine = newest;
  clearTimeout(timer);
  try {
    const listed = await service.list(stateOf(state.value), page);
    if (mine !== newest) return;
    const isChanged = await table.show(listed, { keep });
    if (mine !== newest) return;
    pause = isChanged ? soonest : Math.min(pause * 1.5, latest);
    if (awaited !== undefined && table.has(awaited)) awaited = undefined;
    showAlert(alertPlace);
    newer.disabled = page === 0;
    older.disabled = !mayHaveMore(listed);
    setText(element('page', HTMLElement), `Page ${page + 1}`);
    const empty = element('empty', HTMLElement);
    empty.hidden = listed.length > 0;
    setText(empty, state.value === '' ? 'There are no exports on this page.' : `No export here is ${state.value}.`);
    setText(element('freshness', HTMLElement), `as of ${new Date().toLocaleTimeString()}`);
    if (table.isUnderWay || awaited !== undefined) schedule(pause);
  } catch (error) {
    if (mine !== newest || !(error instanceof Error)) throw error;
    const refusal = error instanceof RefusedError ? error.refusal : undefined;
    showAlert(alertPlace, error.message, refusal?.remedy ?? 'Tell the operator.');
    pause = Math.min(pause * 2, latest);
    if (refusal?.isTemporary) schedule(Math.max(pause, (refusal.retryAfter ?? 0) * 1000));
  }
}

function schedule(milliseconds: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    // The event below refreshes when the reader comes back.
    if (!document.hidden) void refresh({ keep: true });
  }, milliseconds);
}

function turn(to: number): void {
  page = to;
  pause = soonest;
  void refresh({ keep: false });
}

document.addEventListener('visibilitychange', () => {
  if (!document.hidden && (table.isUnderWay || awaited !== undefined)) void refresh({ keep: true });
});
element('refresh', HTMLButtonElement).addEventListener('click', () => turn(page));
newer.addEventListener('click', () => turn(page - 1));
older.addEventListener('click', () => turn(page + 1));
state.addEventListener('change', () => turn(0));
setInterval(() => {
  if (!document.hidden) table.tick();
}, 10_000);

new OrderForm(service, (requestId) => {
  awaited = requestId;
  state.value = '';
  setText(status, `The export was requested. Request ${requestId}. Its row appears when the service has looked at it.`);
  turn(0);
});
void refresh({ keep: false });
