import { randomUUID } from 'node:crypto';
import { rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere, makeFolder, onDisk } from '../download/disk/local-disk.ts';
import { localPaths } from '../download/disk/local-name.ts';
import { UnavailableError } from '../errors.ts';
import type { ListedFile, ProxyApi } from '../proxy.ts';
import { retryAfterMs } from '../retry.ts';
import type { ReceiptKeys } from './key-set.ts';
import { ReceiptError } from './receipt.ts';
import { bytesOf, inParallel, noReceipts, type ReadReceipts, readReceipts } from './receipt-files.ts';
import { largestReceipt } from './verify-receipt.ts';

export interface FetchReceiptsOptions {
  readonly proxy: ProxyApi;
  /** The receipts, as they are listed. */
  readonly files: readonly ListedFile[];
  /** Where they are kept. One that has the listed size and time there is not downloaded. Default: they are not kept. */
  readonly folder?: string | undefined;
  /** Gets the keys of the service. */
  readonly keys: () => Promise<ReceiptKeys>;
  /** Counts those that are read. */
  readonly counter?: { readonly add: (count: number) => void } | undefined;
  /** As in {@link readReceipts}. */
  readonly ownKeys?: ReadonlySet<string> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Bytes. Larger receipts are read one at a time; of small ones, most of the time is the way there and back. */
const smallReceipt = 4 * 1024 * 1024;

/** Downloads receipts into a folder, and verifies them. @throws ClientError */
export async function fetchReceipts(options: FetchReceiptsOptions): Promise<ReadReceipts> {
  const { proxy, files, folder, keys, counter, ownKeys } = options;
  const { transport } = proxy.connection;
  if (files.length === 0) return noReceipts;
  const asked = keys();
  // Awaited below, with the first receipt.
  asked.catch(() => undefined);
  const parallel = files.some(({ size }) => size > smallReceipt) ? 1 : 16;
  const isTooLarge = ({ size }: ListedFile) => size > largestReceipt;
  if (folder !== undefined) {
    await makeFolder(folder);
    // First all of them, so that those which are refused can be looked at.
    await inParallel(files, parallel, async (file) => {
      if (!isTooLarge(file) && !(await isKept(folder, file)))
        await save(folder, file.name, await fetched(options, file));
      counter?.add(1);
    });
  }
  const sources = files.map((file) => ({
    name: file.name,
    async read() {
      if (isTooLarge(file)) throw new ReceiptError(`the receipt is larger than ${largestReceipt} bytes`);
      if (folder !== undefined) return await bytesOf(join(folder, file.name));
      const jws = await fetched(options, file);
      counter?.add(1);
      return jws;
    },
  }));
  const found = await readReceipts(sources, asked, { ownKeys, parallel: folder === undefined ? parallel : 1 });
  if (folder === undefined) return found;
  const refused = new Set(found.refused.map(({ file }) => file));
  for (const { name, modified } of files) {
    const { final: path } = localPaths(folder, name);
    const now = transport.timing.now();
    // The next run fetches a refused receipt again: its time is not that of the listing.
    await onDisk(path, () => ifThere(utimes(path, now, refused.has(name) ? now : (modified ?? now))));
  }
  return found;
}

/** Whether the folder has this version. */
async function isKept(folder: string, { name, size, modified }: ListedFile): Promise<boolean> {
  const { final: path } = localPaths(folder, name);
  const found = await onDisk(path, () => ifThere(stat(path)));
  return found?.isFile() === true && found.size === size && found.mtimeMs === modified?.getTime();
}

async function fetched(
  { proxy, signal }: FetchReceiptsOptions,
  { name }: Pick<ListedFile, 'name'>,
): Promise<Uint8Array> {
  const { transport } = proxy.connection;
  const backoff = transport.backoff(signal);
  for (;;) {
    try {
      const location = await proxy.location(name, { signal });
      // Storage gets no credentials of the user but those in the URL.
      const reply = await transport.send({ url: location.url, signal });
      if (reply.status !== 200) {
        await reply.discard();
        throw new UnavailableError(`${name}: storage answered with status ${reply.status}`, {
          retryAfterMs: retryAfterMs(reply.header('retry-after'), transport.timing.now()),
          remedy: 'Run the same command again later.',
        });
      }
      // A JWS is ASCII.
      const jws = Buffer.from(await reply.text(largestReceipt), 'latin1');
      if (jws.length !== location.size) throw new UnavailableError(`${name}: storage sent another number of bytes`);
      return jws;
    } catch (error) {
      await backoff.failed(error);
    }
  }
}

/** Saves a receipt, which has its name only once it is whole. */
async function save(folder: string, name: string, jws: Uint8Array): Promise<void> {
  const { final: path } = localPaths(folder, name);
  const part = join(folder, `.${randomUUID()}.part`);
  await onDisk(path, async () => {
    try {
      await writeFile(part, jws);
      await rename(part, path);
    } finally {
      await rm(part, { force: true });
    }
  });
}
