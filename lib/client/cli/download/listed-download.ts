import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isReceiptName } from '../../../contract/delivery.ts';
import { counted, printable } from '../../../terminal/output.ts';
import { DeliveryApi, type ListedFile } from '../../api/delivery-api.ts';
import { downloadFiles } from '../../api/download/download-files.ts';
import { ClientError, UnavailableError } from '../../api/errors.ts';
import { awaitDelivery } from '../../api/receipts/await-delivery.ts';
import { Claims } from '../../api/receipts/claims.ts';
import { type FetchedReceipts, fetchReceipts, markReceived, saveReceipts } from '../../api/receipts/fetch-receipts.ts';
import type { ReceiptKeys } from '../../api/receipts/key-set.ts';
import { ReceiptError } from '../../api/receipts/receipt.ts';
import { mayNameOneOf, type Receipt, requestOf } from '../../api/receipts/receipt-files.ts';
import { findOwnKeys, type OwnKeys, recipientsOf, warnOfReceipts } from '../own-keys.ts';
import { receiptKeys } from '../receipt-keys.ts';
import type { Session } from '../session.ts';
import { nothingStaged } from '../submitted-paths.ts';
import { incompleteError, incompleteText, receiptsOf, unverifiedError } from './delivery-summary.ts';
import { downloadReporter } from './download-reporter.ts';
import { pipeDownload } from './pipe-download.ts';
import { ofDataset, selectFiles } from './select-files.ts';

/** What a user asks `download` for. */
export interface WantedDownload {
  /** Names and patterns; empty: every file, every file of the dataset, or every file of the awaited delivery. */
  readonly names: readonly string[];
  readonly all: boolean;
  readonly dataset: string | undefined;
  /** The longest wait for a delivery; `undefined`: none is waited for. */
  readonly waitMs: number | undefined;
  /** `-`: one file goes to standard output. */
  readonly folder: string;
  readonly parallel: number;
  /** Whether files are saved under the paths that their submitters gave them. */
  readonly originalPaths: boolean;
  readonly force: boolean;
}

/** What the parts of one run share. */
interface Run {
  readonly session: Session;
  readonly proxy: DeliveryApi;
  readonly wanted: WantedDownload;
  readonly own: OwnKeys;
  /** Names in the folder before the run. */
  readonly here: ReadonlySet<string>;
}

/** Downloads files and receipts, compares them, and reports. @throws ClientError unless every file is whole and verified */
export async function downloadListed(session: Session, asked: WantedDownload): Promise<void> {
  const { terminal, output } = session;
  const proxy = new DeliveryApi(await session.service());
  const list = () => Array.fromAsync(proxy.list({ signal: terminal.signal }));
  // Requested before folders and keys are opened.
  const listing = asked.waitMs === undefined ? list() : undefined;
  listing?.catch(() => undefined);
  const wanted = { ...asked, folder: asked.folder === '-' ? '-' : resolve(terminal.folder, asked.folder) };
  const here = new Set(wanted.folder === '-' ? [] : await readdir(wanted.folder).catch(() => []));
  const run = { session, proxy, wanted, own: await findOwnKeys(session), here };
  const delivery = wanted.waitMs === undefined ? undefined : await awaited(run, wanted.waitMs);
  const present = await (listing ?? list());
  const { files, claims, refused, gone, saved } = await chosen(run, present, delivery);
  if (present.length === 0) output.note(`Your outbox is empty: ${await nothingStaged(session)}.`);
  if (wanted.folder === '-') {
    // A refused receipt can be the one of this file.
    if (refused[0]) throw refused[0];
    await pipeDownload(session, proxy, files, { parallel: wanted.parallel, claims });
    return;
  }
  const report = await download(run, files, claims);
  if (report.error) throw report.error;
  const came = new Set(files.map(({ name }) => name));
  const isLeft = new Set(present.map(({ name }) => name).filter((name) => !came.has(name)));
  const received = claims.receipts.filter(({ files: listed }) => !listed.some(({ name }) => isLeft.has(name)));
  const requests = new Set(received.map(({ jti }) => jti));
  const whole = saved.filter(({ name }) => requests.has(requestOf(name)));
  await markReceived(wanted.folder, whole);
  if (refused[0]) throw refused[0];
  if (delivery?.complete === false) throw incompleteError(delivery);
  if (gone !== undefined) throw gone;
  const unverified = unverifiedError(report.files, claims);
  if (unverified) throw unverified;
}

/** Waits for a delivery that the folder does not have yet. */
async function awaited(run: Run, timeoutMs: number): Promise<Receipt> {
  const { session, proxy, wanted } = run;
  const { terminal, output } = session;
  await expectKeys(run);
  output.note('Waiting until your files are staged, as their delivery receipt says. Ctrl-C quits.');
  return await awaitDelivery({
    proxy,
    dataset: wanted.dataset,
    async has({ name, size, modified }) {
      const found = await stat(join(wanted.folder, name)).catch(() => undefined);
      return found?.size === size && (modified === undefined || Math.abs(found.mtimeMs - modified.getTime()) < 1000);
    },
    timeoutMs,
    fetch: (files) => fetched(run, files, () => receiptKeys(session, proxy)),
    retrying: ({ message }) => output.note(printable(`${message}; trying again`)),
    signal: terminal.signal,
  });
}

/** @throws ClientError if the service publishes no keys: it signs no receipts, so there is none to wait for */
async function expectKeys({ session, proxy }: Run): Promise<void> {
  try {
    await receiptKeys(session, proxy);
  } catch (error) {
    // The wait survives a service that does not answer.
    if (error instanceof UnavailableError && error.retryable) return;
    if (!(error instanceof ClientError) || !withoutKeys.has(error.code)) throw error;
    throw new ClientError('usage', `delivery receipts of this service cannot be verified: ${error.message}`, {
      remedy: 'Ask the administrator when the export is done, then run the command without --wait.',
      cause: error,
    });
  }
}

/**
 * Chooses the files to download, fetches their receipts into the folder, and reads them.
 * @returns also the receipts that are `saved` there, and an error if files of the delivery are `gone` from the outbox
 */
async function chosen(run: Run, present: readonly ListedFile[], delivery: Receipt | undefined) {
  const { names, all, folder, dataset } = run.wanted;
  const { output, progress } = run.session;
  const delivered = delivery && new Set(delivery.files.map(({ name }) => name));
  const ofDelivery = delivered ? present.filter(({ name }) => delivered.has(name)) : present;
  const selected = names.length > 0 ? selectFiles(present, names) : all ? present : ofDelivery;
  const receipts = present.filter(({ name }) => isReceiptName(name));
  const candidates = selected.filter(({ name }) => !isReceiptName(name));
  const isSelected = new Set(selected);
  const mayName = mayNameOneOf(candidates);
  const toRead = receipts.filter((file) => isSelected.has(file) || run.here.has(file.name) || mayName(file.name));
  const counter = progress.counter('reading receipts', toRead.length);
  const read = await checkable(run, toRead, counter).finally(counter.end);
  const claims = new Claims(read.receipts);
  // Why no receipt could be relied on says more than that none names the dataset.
  if (dataset !== undefined && read.refused[0] && claims.size === 0) throw read.refused[0];
  const files = dataset === undefined || delivery ? candidates : ofDataset(candidates, claims, dataset);
  // The folder gets the receipts of the files and of the delivery, those that are selected, and newer ones of those that it has.
  const ofFiles = files.length < candidates.length ? files : selected;
  const wantedNames = new Set([...ofFiles.map(({ name }) => name), ...run.here]);
  const requests = new Set(files.flatMap(({ name }) => claims.of(name)?.receipt.jti ?? []));
  if (delivery) requests.add(delivery.jti);
  const saved = toRead.filter(({ name }) => {
    return read.jws.has(name) && (wantedNames.has(name) || requests.has(requestOf(name)));
  });
  if (folder !== '-') {
    await saveReceipts(folder, new Map(saved.map(({ name }) => [name, read.jws.get(name) as Uint8Array])));
    if (saved.length > 0 && files.length === 0) {
      output.note(`The delivery receipts of your outbox are in ${printable(folder)}.`);
    }
  }
  const lost = names.length === 0 && delivered ? delivered.size - ofDelivery.length : 0;
  const left = `${lost} of ${delivered?.size} files of the delivery are no longer in your outbox`;
  const remedy = 'data-out verify shows what the folder lacks: ask for a new export of it.';
  const gone = lost > 0 ? new ClientError('not_verified', left, { remedy }) : undefined;
  return { ...read, files, saved, claims, gone };
}

async function download({ session, proxy, wanted }: Run, files: readonly ListedFile[], claims: Claims) {
  const { terminal, output, progress } = session;
  const { signal } = terminal;
  const started = terminal.now().getTime();
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  progress.expect(bytes, files.length);
  const reporter = downloadReporter(output, progress, files.length);
  const { folder, parallel, force } = wanted;
  const expected = ({ name }: ListedFile) => claims.of(name);
  const place = wanted.originalPaths ? (file: ListedFile) => claims.place(file.name) : undefined;
  const placeless = place ? files.filter((file) => place(file) === undefined).length : 0;
  const keeps = placeless === 1 ? 'keeps its staged name' : 'keep their staged names';
  if (placeless > 0) output.warn(`${counted(placeless, 'file')} without a receipt ${keeps}`);
  const report = await downloadFiles({
    ...{ proxy, files, folder, parallel, force, expected, place, signal },
    onEvent: reporter.onEvent,
  });
  progress.end();
  const used = receiptsOf(report.files, claims);
  for (const receipt of claims.lacking()) {
    if (wanted.all || used.includes(receipt)) output.warn(incompleteText(receipt));
  }
  const unlike = report.files.filter(({ name, outcome, verified }) => {
    return outcome !== 'failed' && verified === undefined && claims.of(name) !== undefined;
  });
  if (unlike.length > 0) {
    const compared = `${counted(unlike.length, 'file')} could be compared by header and size only`;
    output.note(`${compared}: the receipt has no checksum. data-out verify says more.`);
  }
  reporter.summarize(terminal.now().getTime() - started, report.files, claims);
  const isLeft = report.files.some(({ error }) => error?.code === 'interrupted' || error?.code === 'unavailable');
  if (isLeft) output.note('Downloaded bytes are kept: run the same command again to resume.');
  return report;
}

/** The receipts; none if the service has no keys to verify them with. */
async function checkable(
  run: Run,
  files: readonly ListedFile[],
  counter: { readonly add: (count: number) => void },
): Promise<FetchedReceipts> {
  const { session, proxy, own } = run;
  let keyFault: unknown;
  const keys = () =>
    receiptKeys(session, proxy).catch((error: unknown) => {
      keyFault = error;
      throw error;
    });
  try {
    const found = await fetched(run, files, keys, counter);
    warnOfReceipts(session, found, own);
    return found;
  } catch (error) {
    if (error !== keyFault || !(error instanceof ClientError) || !withoutKeys.has(error.code)) throw error;
    const message = `the delivery receipts cannot be verified: ${error.message}`;
    session.output.warn(printable(message));
    // A service never withdraws its keys. If this were accepted, an attacker who hides them could change files.
    const refused = [new ReceiptError(message, { cause: error })];
    return { receipts: [], refused, foreign: [], notWhole: [], jws: new Map() };
  }
}

async function fetched(
  { session, proxy, own }: Run,
  files: readonly ListedFile[],
  keys: () => Promise<ReceiptKeys>,
  counter?: { readonly add: (count: number) => void },
): Promise<FetchedReceipts> {
  const { signal } = session.terminal;
  return await fetchReceipts({ proxy, files, counter, signal, keys, ownKeys: recipientsOf(own) });
}

/** Errors of a service without usable keys. */
const withoutKeys: ReadonlySet<string> = new Set(['not_found', 'forbidden', 'usage', 'protocol']);
