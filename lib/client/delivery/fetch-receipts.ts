import { downloadFiles } from '../download/download-files.ts';
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
export async function downloadReceipts({ proxy, files, folder, sync, signal }: FetchReceiptsOptions): Promise<void> {
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
