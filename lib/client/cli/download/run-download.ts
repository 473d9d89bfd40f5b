import { resolve } from 'node:path';
import type { AwaitedDelivery } from '../../api/delivery/await-delivery.ts';
import { ReceiptFolder } from '../../api/delivery/receipt-folder.ts';
import type { Existing } from '../../api/download/disk/existing.ts';
import { type ListedFile, ProxyApi } from '../../api/proxy.ts';
import type { PrivateKeys } from '../key-files.ts';
import type { Session } from '../session.ts';
import { cachePath } from '../sources.ts';

/** What a user asks `download` for. */
export interface WantedDownload {
  /** Names and patterns; empty: every file, or every file of the awaited delivery. */
  readonly names: readonly string[];
  readonly all: boolean;
  readonly wait: { readonly delivery: AwaitedDelivery; readonly timeoutMs: number } | undefined;
  readonly folder: string;
  readonly parallel: number;
  readonly connections: number;
  readonly decrypt: boolean;
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
  /** Those to decrypt with. */
  readonly keys: PrivateKeys | undefined;
  /** The receipts read so far. Receipts of downloaded files are also copied beside them. */
  readonly scratch: ReceiptFolder;
  /** The outbox. */
  readonly list: () => Promise<readonly ListedFile[]>;
}

/** Downloads as `downloadListed` does. @throws ClientError */
export async function runDownload(session: Session, asked: WantedDownload): Promise<void> {
  const { terminal } = session;
  const proxy = new ProxyApi(await session.service());
  // A wrong key or passphrase fails before the first download.
  using keys = asked.decrypt ? await (await import('../key-files.ts')).readPrivateKeys(session) : undefined;
  const failure = new AbortController();
  using _ = { [Symbol.dispose]: () => failure.abort() };
  const signal = AbortSignal.any([terminal.signal, failure.signal]);
  const list = () => Array.fromAsync(proxy.list({ signal }));
  // Requested before folders and keys are read. If something fails before it is awaited, it is given up.
  const listing = asked.wait ? undefined : list();
  listing?.catch(() => undefined);
  await using scratch = await ReceiptFolder.open(cachePath(terminal), terminal.now);
  const wanted = { ...asked, folder: resolve(terminal.folder, asked.folder) };
  // Loaded only when the request is on its way: this is most of the code.
  const { downloadListed } = await import('./listed-download.ts');
  await downloadListed({ session, proxy, wanted, keys, scratch, list: () => listing ?? list() });
}
