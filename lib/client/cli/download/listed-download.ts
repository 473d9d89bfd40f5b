import { readdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isReceiptName } from '../../../contract/delivery.ts';
import { counted, type Output, printable } from '../../../terminal/output.ts';
import { awaitDelivery } from '../../api/delivery/await-delivery.ts';
import { Claims } from '../../api/delivery/claims.ts';
import type { Receipt } from '../../api/delivery/combine.ts';
import { fetchReceipts } from '../../api/delivery/fetch-receipts.ts';
import type { ReceiptKeys } from '../../api/delivery/key-set.ts';
import { ReceiptError } from '../../api/delivery/receipt.ts';
import { mayNameOneOf, noReceipts, type ReadReceipts, requestOf } from '../../api/delivery/receipt-files.ts';
import { type DownloadReport, downloadFiles } from '../../api/download/download-files.ts';
import type { Expected } from '../../api/download/expected.ts';
import { ClientError, UnavailableError } from '../../api/errors.ts';
import { type ListedFile, ProxyApi } from '../../api/proxy.ts';
import { findOwnKeys, type OwnKeys, recipientsOf, warnOfReceipts } from '../own-keys.ts';
import { pinnedKeys, receiptKeys } from '../receipt-keys.ts';
import type { Session } from '../session.ts';
import { nothingStaged } from '../submitted-paths.ts';
import { incompleteError, incompleteText, summaryOf, unverifiedError } from './delivery-summary.ts';
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
  readonly proxy: ProxyApi;
  readonly wanted: WantedDownload;
  readonly own: OwnKeys;
  /** Names in the folder before the run. */
  readonly here: ReadonlySet<string>;
}

/** Downloads files and receipts, compares them, and reports. @throws ClientError unless every file is whole and verified */
export async function downloadListed(session: Session, asked: WantedDownload): Promise<void> {
  const { terminal, output } = session;
  const proxy = new ProxyApi(await session.service());
  const list = () => Array.fromAsync(proxy.list({ signal: terminal.signal }));
  // Requested before folders and keys are opened.
  const listing = asked.waitMs === undefined ? list() : undefined;
  listing?.catch(() => undefined);
  const wanted = { ...asked, folder: asked.folder === '-' ? '-' : resolve(terminal.folder, asked.folder) };
  const here = new Set(wanted.folder === '-' ? [] : await readdir(wanted.folder).catch(() => []));
  const run = { session, proxy, wanted, own: await findOwnKeys(session), here };
  const delivery = wanted.waitMs === undefined ? undefined : await awaited(run, wanted.waitMs);
  const present = await (listing ?? list());
  const { files, claims, refused, gone } = await chosen(run, present, delivery);
  if (present.length === 0) output.note(`Your outbox is empty: ${await nothingStaged(session.settings)}.`);
  const expected = ({ name }: ListedFile): Expected | undefined =>
    claims.expected(name, run.own.known.has(claims.of(name)?.receipt.key_fingerprint ?? ''));
  if (wanted.folder === '-') {
    // A refused receipt can be the one of this file.
    if (refused[0]) throw refused[0];
    await pipeDownload(files, { session, proxy, parallel: wanted.parallel, expected, claims });
    return;
  }
  const report = await download(run, files, expected, claims);
  if (report.error) throw report.error;
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
  output.note('Waiting for the delivery receipt.');
  const here = (...path: readonly string[]) => stat(join(wanted.folder, ...path)).catch(() => undefined);
  return await awaitDelivery({
    proxy,
    wanted: {
      dataset: wanted.dataset,
      async has({ name, size, modified }) {
        const found = await here(name);
        return found?.size === size && (modified === undefined || Math.abs(found.mtimeMs - modified.getTime()) < 1000);
      },
      async isWhole(receipt) {
        const claims = new Claims([receipt]);
        const files = wanted.names.length > 0 ? selectFiles(receipt.files, wanted.names, 'any') : receipt.files;
        const found = files.map(
          async ({ name }) => (await here(name)) ?? (await here(...(claims.place(name) ?? ['']))),
        );
        return (await Promise.all(found)).every((each) => each?.isFile());
      },
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

interface Chosen extends ReadReceipts {
  readonly files: readonly ListedFile[];
  readonly claims: Claims;
  /** If files of the delivery are no longer in the outbox. */
  readonly gone: ClientError | undefined;
}

/** Chooses the files to download, fetches their receipts into the folder, and reads them. */
async function chosen(run: Run, present: readonly ListedFile[], delivery: Receipt | undefined): Promise<Chosen> {
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
  const files = dataset === undefined || delivery ? candidates : ofDataset(candidates, claims, dataset);
  if (folder !== '-') {
    if (selected.length > files.length && files.length === 0) {
      output.note(`The delivery receipts of your outbox are in ${printable(folder)}.`);
    }
    // Nobody knows what receipts say that could not be read, so all of them stay.
    if (read.areRead)
      await keepReceipts(run, receipts, files.length < candidates.length ? files : selected, claims, delivery);
  }
  const lost = names.length === 0 && delivered ? delivered.size - ofDelivery.length : 0;
  return { ...read, files, claims, gone: lost > 0 ? goneError(lost, delivered?.size ?? 0) : undefined };
}

/**
 * Leaves in the folder the receipts of these files, of the delivery, those that were named, and those that it had before. The others were
 * fetched only to know what they say.
 */
async function keepReceipts(
  { wanted: { folder }, here }: Run,
  receipts: readonly ListedFile[],
  selected: readonly ListedFile[],
  claims: Claims,
  delivery: Receipt | undefined,
): Promise<void> {
  const kept = new Set([...selected.map(({ name }) => name), ...here]);
  const requests = new Set(selected.flatMap(({ name }) => claims.of(name)?.receipt.jti ?? []));
  if (delivery) requests.add(delivery.jti);
  for (const { name } of receipts) {
    if (!kept.has(name) && !requests.has(requestOf(name))) await rm(join(folder, name), { force: true });
  }
}

async function download(
  { session, proxy, wanted }: Run,
  files: readonly ListedFile[],
  expected: (file: ListedFile) => Expected | undefined,
  claims: Claims,
): Promise<DownloadReport> {
  const { terminal, output, progress } = session;
  const { signal } = terminal;
  const started = terminal.now().getTime();
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  progress.expect(bytes, files.length);
  const reporter = downloadReporter(output, progress, files.length);
  const { folder, parallel, force } = wanted;
  const place = wanted.originalPaths ? originalPlaces(files, claims, output) : undefined;
  const report = await downloadFiles({
    ...{ proxy, files, folder, parallel, existing: force ? 'force' : 'keep', expected, place, signal },
    onEvent: reporter.onEvent,
  });
  progress.end();
  const summary = summaryOf(report.files, claims);
  for (const receipt of claims.lacking()) {
    if (wanted.all || summary.receipts.includes(receipt)) output.warn(incompleteText(receipt));
  }
  const unlike = report.files.filter(({ name, outcome, verified }) => {
    return outcome !== 'failed' && verified === undefined && claims.of(name) !== undefined;
  });
  if (unlike.length > 0) {
    const compared = `${counted(unlike.length, 'file')} could be compared by header and size only`;
    output.note(`${compared}: the receipt has no checksum. data-out verify says more.`);
  }
  reporter.summarize(terminal.now().getTime() - started, summary);
  const isLeft = report.files.some(({ error }) => error?.code === 'interrupted' || error?.code === 'unavailable');
  if (isLeft) output.note('Downloaded bytes are kept: run the same command again to resume.');
  return report;
}

function originalPlaces(
  files: readonly ListedFile[],
  claims: Claims,
  output: Output,
): (file: ListedFile) => readonly string[] | undefined {
  const without = files.filter(({ name }) => claims.place(name) === undefined).length;
  if (without > 0) {
    const keeps = without === 1 ? 'keeps its staged name' : 'keep their staged names';
    output.warn(`${counted(without, 'file')} without a receipt ${keeps}`);
  }
  return ({ name }) => claims.place(name);
}

/** The receipts; none, and `areRead` is false, if the service has no keys to verify them with. */
async function checkable(
  run: Run,
  files: readonly ListedFile[],
  counter: { readonly add: (count: number) => void },
): Promise<ReadReceipts & { readonly areRead: boolean }> {
  const { session, proxy, own } = run;
  if (files.length === 0) return { ...noReceipts, areRead: true };
  let keyFault: unknown;
  const keys = () =>
    receiptKeys(session, proxy).catch((error: unknown) => {
      keyFault = error;
      throw error;
    });
  try {
    const found = await fetched(run, files, keys, counter);
    warnOfReceipts(session, found, own);
    return { ...found, areRead: true };
  } catch (error) {
    if (error !== keyFault || !(error instanceof ClientError) || !withoutKeys.has(error.code)) throw error;
    const message = `the delivery receipts cannot be verified: ${error.message}`;
    session.output.warn(printable(message));
    // A service never withdraws its keys. If this were accepted, an attacker who hides them could change files.
    const refused = (await pinnedKeys(session)).length > 0 ? [new ReceiptError(message, { cause: error })] : [];
    return { ...noReceipts, refused, areRead: false };
  }
}

async function fetched(
  { session, proxy, wanted, own }: Run,
  files: readonly ListedFile[],
  keys: () => Promise<ReceiptKeys>,
  counter?: { readonly add: (count: number) => void },
): Promise<ReadReceipts> {
  const { signal } = session.terminal;
  const folder = wanted.folder === '-' ? undefined : wanted.folder;
  return await fetchReceipts({ proxy, files, folder, counter, signal, keys, ownKeys: recipientsOf(own) });
}

/** Errors of a service without usable keys. */
const withoutKeys: ReadonlySet<string> = new Set(['not_found', 'forbidden', 'usage', 'protocol']);

function goneError(lost: number, total: number): ClientError {
  return new ClientError('not_verified', `${lost} of ${total} files of the delivery are no longer in your outbox`, {
    remedy: 'data-out verify shows what the folder lacks: ask for a new export of it.',
  });
}
