import type { AwaitedDelivery } from '../../api/delivery/await-delivery.ts';
import type { Existing } from '../../api/download/disk/existing.ts';
import { ProxyApi } from '../../api/proxy.ts';
import { PrivateKeys, readPrivateKeys } from '../key-files.ts';
import type { Session } from '../session.ts';

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

/** Downloads as `downloadListed` does. The listing is asked for before most code is loaded. @throws ClientError */
export async function runDownload(session: Session, wanted: WantedDownload): Promise<void> {
  const proxy = new ProxyApi(await session.service());
  // A wrong key or passphrase fails before the first download.
  using keys = wanted.decrypt ? await readPrivateKeys(session) : new PrivateKeys();
  const failure = new AbortController();
  using _ = { [Symbol.dispose]: () => failure.abort() };
  const signal = AbortSignal.any([session.terminal.signal, failure.signal]);
  const list = () => Array.fromAsync(proxy.list({ signal }));
  const listing = wanted.wait ? undefined : list();
  // Awaited later. If something else fails before, it is given up.
  listing?.catch(() => undefined);
  const { downloadListed } = await import('./listed-download.ts');
  await downloadListed({ session, proxy, wanted, keys, list: () => listing ?? list() });
}
