import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { onDisk } from '../download/disk/local-disk.ts';
import { localPaths } from '../download/disk/local-name.ts';
import { downloadFile } from '../download/download-file.ts';
import { type DownloadFilesOptions, downloadFiles } from '../download/download-files.ts';
import type { DownloadEvent } from '../download/events.ts';
import type { RemoteFile } from '../download/remote/remote-file.ts';
import type { ListedFile, ProxyApi } from '../proxy.ts';
import type { ReceiptKeys } from './key-set.ts';
import { noReceipts, type ReadReceipts, readReceipts } from './receipt-files.ts';
import type { ReceiptFolder } from './receipt-folder.ts';

export interface FetchReceiptsOptions {
  readonly proxy: ProxyApi;
  /** The receipts, as they are listed. */
  readonly files: readonly ListedFile[];
  readonly folder: ReceiptFolder;
  /** Counts those that are in the folder. */
  readonly counter?: { readonly add: (count: number) => void } | undefined;
  /** As in {@link readReceipts}. */
  readonly ownKeys?: ReadonlySet<string> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Receipts at once. They are small, so most of the time is the way there and back. */
const parallel = 16;

/** Downloads receipts. One of another size or time in the folder is replaced. @throws ClientError */
async function downloadReceipts(
  options: Pick<DownloadFilesOptions, 'proxy' | 'files' | 'folder' | 'sync' | 'onEvent' | 'signal'>,
): Promise<void> {
  const { error } = await downloadFiles({ ...options, parallel, connections: 1, existing: 'renew' });
  if (error) throw error;
}

/**
 * Downloads receipts that are not kept from an earlier run, and verifies all of them.
 * @param options.keys gets the keys of the service
 * @throws ClientError
 */
export async function fetchReceipts(
  options: FetchReceiptsOptions & { readonly keys: () => Promise<ReceiptKeys> },
): Promise<ReadReceipts> {
  const { proxy, files, folder, counter, ownKeys, signal } = options;
  if (files.length === 0) return noReceipts;
  const asked = options.keys();
  // Awaited below, when the receipts have come.
  asked.catch(() => undefined);
  const lacking = await folder.lacking(files);
  counter?.add(files.length - lacking.length);
  const onEvent = ({ type }: DownloadEvent) => void (type === 'finished' && counter?.add(1));
  await downloadReceipts({ proxy, files: lacking, folder: folder.path, sync: false, onEvent, signal });
  const names = files.map(({ name }) => name);
  const read = await readReceipts(folder.path, names, await asked, ownKeys);
  const refused = new Set(read.refused.map(({ file }) => file));
  await folder.keep(files, ({ name }) => !refused.has(name));
  return read;
}

/**
 * Puts receipts that were fetched already into another folder, whole and under their names only, as a download does. Those that
 * were not fetched are downloaded.
 * @param options.from folder that they were fetched to
 * @throws ClientError
 */
export async function copyReceipts(
  options: Pick<DownloadFilesOptions, 'proxy' | 'folder' | 'sync' | 'signal'> & {
    readonly files: readonly ListedFile[];
    readonly from: string;
  },
): Promise<void> {
  const { proxy, files, from, folder, sync = true, signal } = options;
  const { transport } = proxy.connection;
  const fetched = new Set(await readdir(from));
  await downloadReceipts({ proxy, files: files.filter(({ name }) => !fetched.has(name)), folder, sync, signal });
  for (const { name } of files.filter((file) => fetched.has(file.name))) {
    const remote = await fetchedReceipt(from, name);
    const paths = localPaths(folder, name);
    const onEvent = () => undefined;
    await downloadFile({ remote, paths, connections: 1, existing: 'renew', sync, transport, onEvent, signal });
  }
}

/** A receipt on the disk, in the form of one on a server. */
async function fetchedReceipt(folder: string, name: string): Promise<RemoteFile> {
  const path = join(folder, name);
  const { size, mtime } = await onDisk(path, () => stat(path));
  return {
    name,
    size,
    modified: mtime,
    async get({ range }) {
      const bytes = createReadStream(path, range && { start: range.start, end: range.end - 1 });
      const version = { size, etag: undefined, lastModified: mtime.toUTCString() };
      return { version, bytes, discard: async () => void bytes.destroy() };
    },
  };
}
