import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachConcurrently } from '../../../common/concurrently.ts';
import type { DeliveryApi, ListedFile } from '../delivery-api.ts';
import { makeFolder, onDisk } from '../download/disk/local-disk.ts';
import { localPaths } from '../download/disk/local-name.ts';
import { restarting, StagedFile } from '../download/staged-file.ts';
import type { ReceiptKeys } from './key-set.ts';
import { ReceiptError } from './receipt.ts';
import { type ReadReceipts, readReceipts } from './receipt-files.ts';
import { largestReceipt } from './verify-receipt.ts';

export interface FetchReceiptsOptions {
  readonly proxy: DeliveryApi;
  /** The receipts, as they are listed. */
  readonly files: readonly ListedFile[];
  /** Gets the keys of the service. */
  readonly keys: () => Promise<ReceiptKeys>;
  /** Counts those that are read. */
  readonly counter?: { readonly add: (count: number) => void } | undefined;
  /** As in {@link readReceipts}. */
  readonly ownKeys?: ReadonlySet<string> | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface FetchedReceipts extends ReadReceipts {
  /** The bytes of those whose signature is valid, by their names. */
  readonly jws: ReadonlyMap<string, Uint8Array>;
}

/** Bytes. Larger receipts are read one at a time; of small ones, most of the time is the way there and back. */
const smallReceipt = 4 * 1024 * 1024;

/** Downloads receipts into memory, and verifies them. @throws ClientError */
export async function fetchReceipts(options: FetchReceiptsOptions): Promise<FetchedReceipts> {
  const { proxy, files, keys, counter, ownKeys, signal } = options;
  const jws = new Map<string, Uint8Array>();
  const sources = files.map(({ name, size }) => ({
    name,
    async read() {
      const bytes = await restarting(size, async (now) => {
        if (now > largestReceipt) throw new ReceiptError(`the receipt is larger than ${largestReceipt} bytes`);
        return await new StagedFile(proxy, { name, size: now }).read(0, now, { signal });
      });
      counter?.add(1);
      return bytes;
    },
    verified: (bytes: Uint8Array) => void jws.set(name, bytes),
  }));
  const parallel = files.some(({ size }) => size > smallReceipt) ? 1 : 16;
  return { ...(await readReceipts(sources, keys, { ownKeys, parallel })), jws };
}

/** Saves receipts in a folder, each of which has its name only once it is whole. @throws LocalDiskError */
export async function saveReceipts(folder: string, receipts: FetchedReceipts['jws']): Promise<void> {
  await makeFolder(folder);
  await forEachConcurrently(receipts, 16, async ([name, jws]) => {
    const { final: path } = localPaths(folder, name);
    const part = join(folder, `.${randomUUID()}.part`);
    await onDisk(path, async () => {
      // An unchanged one keeps its time. One that another person made unreadable is replaced.
      if ((await readFile(path).catch(() => undefined))?.equals(jws)) return;
      try {
        await writeFile(part, jws);
        await rename(part, path);
      } finally {
        await rm(part, { force: true });
      }
    });
  });
}

/** Gives receipts in a folder the times of the listing. That marks those whose files have come. */
export async function markReceived(folder: string, receipts: readonly ListedFile[]): Promise<void> {
  for (const { name, modified } of receipts) {
    const { final: path } = localPaths(folder, name);
    // The receipt of another user in a shared folder keeps its time.
    if (modified) await utimes(path, modified, modified).catch(() => undefined);
  }
}
