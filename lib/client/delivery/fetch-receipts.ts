import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { onDisk } from '../download/disk/local-disk.ts';
import { localPaths } from '../download/disk/local-name.ts';
import { downloadFile } from '../download/download-file.ts';
import { downloadFiles } from '../download/download-files.ts';
import type { RemoteFile } from '../download/remote/remote-file.ts';
import type { ListedFile, ProxyApi } from '../proxy.ts';
import { parseKeySet } from './key-set.ts';
import { type ReadReceipts, readReceipts } from './receipt-files.ts';

export interface FetchReceiptsOptions {
  readonly proxy: ProxyApi;
  /** The receipts, as they are listed. */
  readonly files: readonly ListedFile[];
  /** Made if it does not exist. A receipt of another size or time there is replaced. */
  readonly folder: string;
  readonly sync?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Receipts at once. */
const parallel = 4;

/** Downloads receipts that are not in the folder yet. @throws ClientError */
async function downloadReceipts({ proxy, files, folder, sync, signal }: FetchReceiptsOptions): Promise<void> {
  const common = { proxy, files, folder, signal, ...(sync !== undefined && { sync }) };
  const { error } = await downloadFiles({ ...common, parallel, connections: 1, existing: 'renew' });
  if (error) throw error;
}

/**
 * Downloads receipts that are not in the folder yet, and verifies all of them with the keys of the service.
 *
 * @throws ClientError
 */
export async function fetchReceipts(options: FetchReceiptsOptions): Promise<ReadReceipts> {
  const { proxy, files, folder, signal } = options;
  if (files.length === 0) return { receipts: [], refused: [] };
  await downloadReceipts(options);
  const keys = await parseKeySet(await proxy.keySet({ signal }), 'the keys of the service');
  const names = files.map(({ name }) => name);
  return await readReceipts(folder, names, keys);
}

/**
 * Puts receipts that were fetched already into another folder, whole and under their names only, as a download does. Those that
 * were not fetched are downloaded.
 *
 * @param options.from folder that they were fetched to
 * @throws ClientError
 */
export async function copyReceipts(options: FetchReceiptsOptions & { readonly from: string }): Promise<void> {
  const { proxy, files, from, folder, sync, signal } = options;
  const { transport } = proxy.connection;
  const fetched = new Set(await readdir(from));
  await downloadReceipts({ ...options, files: files.filter(({ name }) => !fetched.has(name)) });
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
