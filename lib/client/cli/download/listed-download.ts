import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isReceiptName } from '../../../contract/delivery.ts';
import { counted, type Output, printable } from '../../../terminal/output.ts';
import type { Counter } from '../../../terminal/progress.ts';
import { type AwaitedDelivery, awaitDelivery } from '../../api/delivery/await-delivery.ts';
import { Claims } from '../../api/delivery/claims.ts';
import type { Receipt } from '../../api/delivery/combine.ts';
import { fetchReceipts } from '../../api/delivery/fetch-receipts.ts';
import { ReceiptError } from '../../api/delivery/receipt.ts';
import { mayNameOneOf, noReceipts, type ReadReceipts, requestOf } from '../../api/delivery/receipt-files.ts';
import type { Existing } from '../../api/download/disk/existing.ts';
import { downloadFiles } from '../../api/download/download-files.ts';
import type { Expectation, Expected } from '../../api/download/expected.ts';
import { ClientError, UnavailableError } from '../../api/errors.ts';
import type { ListedFile, ProxyApi } from '../../api/proxy.ts';
import { findOwnKeys, type OwnKeys, recipientsOf, warnOfReceipts } from '../own-keys.ts';
import { pinnedKeys, receiptKeys } from '../receipt-keys.ts';
import type { Session } from '../session.ts';
import { nothingStaged } from '../submitted-paths.ts';
import { incompleteError, incompleteText, summaryOf } from './delivery-summary.ts';
import { downloadReporter } from './download-reporter.ts';
import { pipeDownload } from './pipe-download.ts';
import { selectFiles } from './select-files.ts';

/** What a user asks `download` for. */
export interface WantedDownload {
  /** Names and patterns; empty: every file, or every file of the awaited delivery. */
  readonly names: readonly string[];
  readonly all: boolean;
  readonly wait: { readonly delivery: AwaitedDelivery; readonly timeoutMs: number } | undefined;
  /** `-`: one file goes to standard output. */
  readonly folder: string;
  readonly parallel: number;
  readonly connections: number;
  /** Whether files that no receipt names are refused. */
  readonly requireReceipt: boolean;
  /** Whether files are saved under the paths that their submitters gave them. */
  readonly originalPaths: boolean;
  readonly existing: Existing;
  readonly sync: boolean;
}

/** A download whose listing has been asked for. */
export interface BegunDownload {
  readonly session: Session;
  readonly proxy: ProxyApi;
  readonly wanted: WantedDownload;
  /** The outbox. */
  readonly list: () => Promise<readonly ListedFile[]>;
}

/** What the parts of one run share. */
interface Run extends BegunDownload {
  readonly own: OwnKeys;
}

/** Downloads files and receipts, compares them, and reports. @throws ClientError unless every file is whole */
export async function downloadListed(begun: BegunDownload): Promise<void> {
  const run = { ...begun, own: await findOwnKeys(begun.session) };
  const delivery = await awaited(run);
  const { files, receipts, gone } = await listed(run, await run.list(), delivery);
  // The files are downloaded meanwhile.
  const reading = read(run, receipts);
  reading.catch(() => undefined);
  const expected = expectationsOf(run, reading);
  if (run.wanted.folder === '-') {
    await pipeDownload(files, { ...run, connections: run.wanted.connections, expected, reading });
    return;
  }
  const error = await download(run, files, expected, reading);
  if (error?.code === 'interrupted')
    run.session.output.note('Downloaded bytes are kept: run the same command again to resume.');
  if (error) throw error;
  const { refused } = await reading;
  if (refused[0]) throw refused[0];
  if (delivery?.complete === false) throw incompleteError(delivery);
  if (gone !== undefined) throw gone;
}

/** Waits for the delivery that the user asks for, if any. */
async function awaited(run: Run): Promise<Receipt | undefined> {
  const { session, proxy, wanted } = run;
  if (wanted.wait === undefined) return undefined;
  const { terminal, output } = session;
  await expectKeys(run);
  output.note('Waiting for the delivery receipt.');
  return await awaitDelivery({
    proxy,
    wanted: wanted.wait.delivery,
    timeoutMs: wanted.wait.timeoutMs,
    fetch: (files) => fetched(run, files),
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

/** Receipts of the outbox that a download needs. */
interface NeededReceipts {
  /** Receipts to fetch, because they can name a file of the download, or because the folder has them. */
  readonly toRead: readonly ListedFile[];
  /** Says of each receipt whether it stays in the folder, once the content of all is known. */
  readonly keeps: (claims: Claims) => (name: string) => boolean;
}

/** The files to download, their receipts, and an error if files of the delivery are no longer there. */
async function listed(
  run: Run,
  present: readonly ListedFile[],
  delivery: Receipt | undefined,
): Promise<{ files: readonly ListedFile[]; receipts: NeededReceipts; gone: ClientError | undefined }> {
  const { names, all, folder } = run.wanted;
  const { output, settings } = run.session;
  const delivered = delivery && new Set(delivery.files.map(({ name }) => name));
  const ofDelivery = delivered ? present.filter(({ name }) => delivered.has(name)) : [];
  const lost = names.length === 0 && delivered ? delivered.size - ofDelivery.length : 0;
  const selected = names.length > 0 ? selectFiles(present, names) : delivered && !all ? ofDelivery : present;
  if (present.length === 0) output.note(`Your outbox is empty: ${await nothingStaged(settings)}.`);
  const receipts = present.filter(({ name }) => isReceiptName(name));
  const files = selected.filter(({ name }) => !isReceiptName(name));
  const here = folder === '-' ? [] : await readdir(folder).catch(() => []);
  const kept = new Set([...selected.map(({ name }) => name), ...here]);
  const mayName = mayNameOneOf(files);
  if (folder !== '-' && selected.length > files.length && files.length === 0) {
    output.note(`The delivery receipts of your outbox are in ${printable(folder)}.`);
  }
  return {
    files,
    receipts: {
      toRead: receipts.filter(({ name }) => kept.has(name) || mayName(name)),
      keeps: (claims) => {
        const requests = new Set(selected.flatMap(({ name }) => claims.of(name)?.receipt.jti ?? []));
        if (delivery) requests.add(delivery.jti);
        return (name) => kept.has(name) || requests.has(requestOf(name));
      },
    },
    gone: lost > 0 ? goneError(lost, delivered?.size ?? 0) : undefined,
  };
}

/** Fetches the receipts of a download into its folder, and verifies them. @throws ClientError */
async function read(run: Run, { toRead, keeps }: NeededReceipts): Promise<ReadReceipts & { readonly claims: Claims }> {
  const counter = run.session.progress.counter('reading receipts', toRead.length);
  const found = await checkable(run, toRead, counter).finally(counter.end);
  const claims = new Claims(found.receipts);
  const { folder } = run.wanted;
  const isKept = keeps(claims);
  for (const { name } of folder === '-' ? [] : toRead) if (!isKept(name)) await rm(join(folder, name), { force: true });
  return { ...found, claims };
}

/** @returns the failure of the run */
async function download(
  { session, proxy, wanted }: Run,
  files: readonly ListedFile[],
  expected: (file: ListedFile) => Expectation,
  reading: Promise<{ readonly claims: Claims }>,
): Promise<ClientError | undefined> {
  const { terminal, output, progress } = session;
  const { signal } = terminal;
  const started = terminal.now().getTime();
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  progress.expect(bytes, files.length);
  const reporter = downloadReporter(output, progress, files.length);
  const { folder, parallel, connections, existing, sync } = wanted;
  const place = wanted.originalPaths ? originalPlaces(files, (await reading).claims, output) : undefined;
  const report = await downloadFiles({
    ...{ proxy, files, folder, parallel, connections, existing, sync, expected, place, signal },
    onEvent: reporter.onEvent,
  });
  const read = await reading.catch((error: unknown) => {
    if (report.error === undefined) throw error;
  });
  progress.end();
  const elapsed = terminal.now().getTime() - started;
  if (read === undefined) {
    reporter.summarize(elapsed);
    return report.error;
  }
  const { claims } = read;
  const summary = summaryOf(report.files, claims);
  for (const receipt of claims.lacking()) {
    if (wanted.all || summary.receipts.includes(receipt)) output.warn(incompleteText(receipt));
  }
  const isUnread = report.files.some(({ outcome, verified }) => outcome === 'skipped' && verified === undefined);
  if (isUnread) output.note('Existing files were not read: data-out verify checks them.');
  const compared = report.files.filter(({ name, outcome }) => outcome === 'downloaded' && claims.of(name));
  const unlike = compared.filter(({ verified }) => verified === undefined).length;
  if (unlike > 0) {
    output.note(
      `${counted(unlike, 'file')} could be compared by header and size only: the receipt has no checksum. data-out verify says more.`,
    );
  }
  reporter.summarize(elapsed, summary);
  return report.error;
}

function originalPlaces(
  files: readonly ListedFile[],
  claims: Claims,
  output: Output,
): (file: ListedFile) => readonly string[] | undefined {
  const placeOf = ({ name }: ListedFile) => claims.place(name);
  const without = files.filter((file) => placeOf(file) === undefined).length;
  if (without > 0) {
    const keeps = without === 1 ? 'keeps its staged name' : 'keep their staged names';
    output.warn(`${counted(without, 'file')} without a receipt ${keeps}`);
  }
  return placeOf;
}

/** The receipts; none if the service has no keys to verify them with. */
async function checkable(run: Run, files: readonly ListedFile[], counter: Counter): Promise<ReadReceipts> {
  const { session, own } = run;
  try {
    const found = await fetched(run, files, counter);
    warnOfReceipts(session, found, own);
    return found;
  } catch (error) {
    if (!(error instanceof ClientError) || !withoutKeys.has(error.code)) throw error;
    const message = `the delivery receipts cannot be verified: ${error.message}`;
    session.output.warn(printable(message));
    // A service never withdraws its keys. If this were accepted, an attacker who hides them could change files.
    const refused = (await pinnedKeys(session)).length > 0 ? [new ReceiptError(message, { cause: error })] : [];
    return { ...noReceipts, refused };
  }
}

async function fetched(
  { session, proxy, wanted, own }: Run,
  files: readonly ListedFile[],
  counter?: Counter,
): Promise<ReadReceipts> {
  const keys = () => receiptKeys(session, proxy);
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

function unnamedError(name: string): ClientError {
  return new ClientError('not_verified', `${name}: no valid delivery receipt names it`, {
    remedy: 'The receipt of an export comes last: wait for it, or omit --require-receipt.',
  });
}

/** What receipts say of files, once they are read. */
function expectationsOf(
  { own, wanted }: Run,
  reading: Promise<{ readonly claims: Claims }>,
): (file: ListedFile) => Expectation {
  const expectedBy = (claims: Claims, name: string): Expected | undefined => {
    const isOwn = own.known.has(claims.of(name)?.receipt.key_fingerprint ?? '');
    const found = claims.expected(name, isOwn);
    if (found === undefined && wanted.requireReceipt) throw unnamedError(name);
    return found;
  };
  let known: Claims | undefined;
  let failure: unknown;
  reading.then(
    ({ claims }) => {
      known = claims;
    },
    (error: unknown) => {
      failure = error;
    },
  );
  return ({ name }) => {
    if (failure !== undefined) throw failure;
    return known ? expectedBy(known, name) : reading.then(({ claims }) => expectedBy(claims, name));
  };
}
