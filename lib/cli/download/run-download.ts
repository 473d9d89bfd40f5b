import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type AwaitedDelivery, awaitDelivery } from '../../client/delivery/await-delivery.ts';
import { Claims } from '../../client/delivery/claims.ts';
import { copyReceipts, fetchReceipts } from '../../client/delivery/fetch-receipts.ts';
import { parseKeySet } from '../../client/delivery/key-set.ts';
import type { ReadReceipts } from '../../client/delivery/receipt-files.ts';
import type { Existing } from '../../client/download/disk/existing.ts';
import { downloadFiles } from '../../client/download/download-files.ts';
import { ClientError, UnavailableError } from '../../client/errors.ts';
import { type ListedFile, ProxyApi } from '../../client/proxy.ts';
import { type DeliveryReceipt, isReceiptName, receiptSuffix } from '../../contract/delivery.ts';
import { printable } from '../../terminal/output.ts';
import { nothingStaged } from '../empty-outbox.ts';
import { threadsFor } from '../files/threads.ts';
import { readPrivateKeys } from '../key-files.ts';
import type { Session } from '../session.ts';
import { incompleteError, incompleteText, summaryOf } from './delivery-summary.ts';
import { DownloadReporter } from './download-reporter.ts';
import { selectFiles } from './select-files.ts';

/** What a user asks `download` for. */
export interface WantedDownload {
  /** Names and patterns; empty: every file, or every file of the delivery that is waited for. */
  readonly names: readonly string[];
  readonly all: boolean;
  readonly wait: { readonly delivery: AwaitedDelivery; readonly timeoutMs: number } | undefined;
  readonly folder: string;
  readonly parallel: number;
  readonly connections: number;
  readonly decrypt: boolean;
  readonly existing: Existing;
  readonly sync: boolean;
}

const uuidLength = 36;

/** Downloads files and the receipts, compares the two, and reports. @throws ClientError unless every file is whole */
export async function runDownload(session: Session, wanted: WantedDownload): Promise<void> {
  const { terminal, output } = session;
  const proxy = new ProxyApi(await session.service());
  // A wrong key or passphrase fails before the first download.
  const privateKeys = wanted.decrypt ? (await readPrivateKeys(session)).map(({ privateKey }) => privateKey) : [];
  const scratch = await mkdtemp(join(tmpdir(), 'data-out-receipts-'));
  try {
    const target = { ...wanted, folder: resolve(terminal.folder, wanted.folder) };
    const run = new DownloadRun(session, proxy, target, scratch);
    const delivery = await run.awaited();
    const { files, read, gone } = await run.listed(delivery);
    const error = await run.download(files, new Claims(read.receipts), privateKeys);
    if (error?.code === 'interrupted') output.note('Downloaded bytes are kept: run the same command again to go on.');
    if (error) throw error;
    if (read.refused[0]) throw read.refused[0];
    if (delivery?.complete === false) throw incompleteError(delivery);
    if (gone !== undefined) throw gone;
  } finally {
    for (const key of privateKeys) key.fill(0);
    await rm(scratch, { recursive: true, force: true });
  }
}

class DownloadRun {
  readonly #session: Session;
  readonly #proxy: ProxyApi;
  readonly #wanted: WantedDownload;
  /** All receipts of the outbox go here, those of the downloaded files also beside the files. */
  readonly #scratch: string;

  constructor(session: Session, proxy: ProxyApi, wanted: WantedDownload, scratch: string) {
    this.#scratch = scratch;
    this.#session = session;
    this.#proxy = proxy;
    this.#wanted = wanted;
  }

  /** Waits for the delivery that the user asks for, if there is one. */
  async awaited(): Promise<DeliveryReceipt | undefined> {
    const { wait } = this.#wanted;
    if (wait === undefined) return undefined;
    const { terminal, output } = this.#session;
    await this.#checkKeys();
    output.note('Waiting for the delivery receipt.');
    return await awaitDelivery({
      proxy: this.#proxy,
      wanted: wait.delivery,
      timeoutMs: wait.timeoutMs,
      fetch: (files) => this.#fetchReceipts(files),
      retrying: ({ message }) => output.note(printable(`${message}; trying again`)),
      signal: terminal.signal,
    });
  }

  /** @throws ClientError if the service publishes no keys: it signs no receipts, so there is none to wait for */
  async #checkKeys(): Promise<void> {
    const { signal } = this.#session.terminal;
    try {
      await parseKeySet(await this.#proxy.keySet({ signal }), 'the keys of the service');
    } catch (error) {
      // The waiting outlasts a service that does not answer.
      if (error instanceof UnavailableError && error.retryable) return;
      if (!(error instanceof ClientError) || !withoutKeys.has(error.code)) throw error;
      throw new ClientError('usage', `no delivery receipt will come that can be verified: ${error.message}`, {
        remedy: 'Ask the administrator when the export is done. Then run the command without --wait.',
        cause: error,
      });
    }
  }

  /** The files to download, the receipts in the outbox, and an error if files of the delivery are not there any more. */
  async listed(
    delivery: DeliveryReceipt | undefined,
  ): Promise<{ files: readonly ListedFile[]; read: ReadReceipts; gone: ClientError | undefined }> {
    const { names, all } = this.#wanted;
    const { terminal, output } = this.#session;
    const listed: ListedFile[] = [];
    for await (const file of this.#proxy.list({ signal: terminal.signal })) listed.push(file);
    const delivered = delivery && new Set(delivery.files.map(({ name }) => name));
    const ofDelivery = delivered ? listed.filter(({ name }) => delivered.has(name)) : [];
    const lost = names.length === 0 && delivered ? delivered.size - ofDelivery.length : 0;
    const selected = names.length > 0 ? selectFiles(listed, names) : delivered && !all ? ofDelivery : listed;
    if (listed.length === 0) output.note(`Your outbox is empty: ${await nothingStaged(this.#session.settings)}.`);
    const receipts = listed.filter(({ name }) => isReceiptName(name));
    const read = await this.#checkable(receipts);
    const files = selected.filter(({ name }) => !isReceiptName(name));
    await this.#keepReceipts(receipts, selected, new Claims(read.receipts), delivery);
    if (selected.length > files.length && files.length === 0) {
      output.note(`The delivery receipts of your outbox are in ${printable(this.#wanted.folder)}.`);
    }
    return { files, read, gone: lost > 0 ? goneError(lost, delivered?.size ?? 0) : undefined };
  }

  /** @returns the failure of the run */
  async download(
    files: readonly ListedFile[],
    claims: Claims,
    privateKeys: readonly Uint8Array[],
  ): Promise<ClientError | undefined> {
    const { terminal, output, progress } = this.#session;
    const { signal } = terminal;
    const started = terminal.now().getTime();
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    progress.expect(bytes, files.length);
    const reporter = new DownloadReporter(output, progress, files.length);
    const { decrypt, folder, parallel, connections, existing, sync } = this.#wanted;
    await using workers = decrypt ? threadsFor(bytes, signal) : undefined;
    const report = await downloadFiles({
      proxy: this.#proxy,
      files,
      folder,
      parallel,
      connections,
      existing,
      sync,
      decrypt: decrypt ? { privateKeys, ...(workers && { cipher: workers }) } : undefined,
      expected: ({ name }) => claims.expected(name, decrypt ? 'plaintext' : 'container'),
      onEvent: reporter.onEvent,
      signal,
    });
    progress.end();
    const summary = summaryOf(report.files, claims);
    for (const receipt of claims.lacking()) {
      if (this.#wanted.all || summary.receipts.includes(receipt)) output.warn(incompleteText(receipt));
    }
    const isUnread = report.files.some(({ outcome, verified }) => outcome === 'skipped' && verified === undefined);
    if (isUnread) output.note('Files that were there already were not read: data-out verify compares them.');
    const compared = report.files.filter(({ name, outcome }) => outcome === 'downloaded' && claims.of(name));
    const unlike = compared.filter(({ verified }) => verified === undefined).length;
    if (unlike > 0) {
      const what =
        unlike === 1
          ? '1 file was not compared with its receipt'
          : `${unlike} files were not compared with their receipt`;
      output.note(`${what}, which is older or has no checksum: data-out verify says more.`);
    }
    reporter.summarize(terminal.now().getTime() - started, summary);
    return report.error;
  }

  /** Puts receipts beside the files: of the files, of the delivery, those that are named, and newer ones of those there. */
  async #keepReceipts(
    receipts: readonly ListedFile[],
    selected: readonly ListedFile[],
    claims: Claims,
    delivery: DeliveryReceipt | undefined,
  ): Promise<void> {
    const { folder, sync } = this.#wanted;
    const here = await readdir(folder).catch(() => []);
    const wanted = new Set([...selected.map(({ name }) => name), ...here]);
    const requests = new Set(selected.flatMap(({ name }) => claims.of(name)?.receipt.jti ?? []));
    if (delivery) requests.add(delivery.jti);
    const files = receipts.filter(({ name }) => wanted.has(name) || requests.has(requestOf(name)));
    const { signal } = this.#session.terminal;
    await copyReceipts({ proxy: this.#proxy, files, from: this.#scratch, folder, sync, signal });
  }

  /** The receipts; none if the service has no keys to verify them with. */
  async #checkable(files: readonly ListedFile[]): Promise<ReadReceipts> {
    const { output } = this.#session;
    try {
      const read = await this.#fetchReceipts(files);
      for (const { message } of read.refused) output.warn(printable(message));
      return read;
    } catch (error) {
      if (!(error instanceof ClientError) || !withoutKeys.has(error.code)) throw error;
      output.warn(printable(`the delivery receipts cannot be verified: ${error.message}`));
      return { receipts: [], refused: [] };
    }
  }

  #fetchReceipts(files: readonly ListedFile[]): Promise<ReadReceipts> {
    const { signal } = this.#session.terminal;
    return fetchReceipts({ proxy: this.#proxy, files, folder: this.#scratch, sync: false, signal });
  }
}

/** How a service answers that has no keys, or none that can be used. */
const withoutKeys: ReadonlySet<string> = new Set(['not_found', 'forbidden', 'usage', 'protocol']);

function goneError(lost: number, total: number): ClientError {
  return new ClientError('not_verified', `${lost} of ${total} files of the delivery are not in your outbox any more`, {
    remedy: 'data-out verify says what the folder has. Ask for a new export of what it lacks.',
  });
}

/** The request id in the name of a receipt. */
function requestOf(name: string): string {
  return name.slice(0, -receiptSuffix.length).slice(-uuidLength);
}
