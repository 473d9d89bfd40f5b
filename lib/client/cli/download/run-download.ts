import { resolve } from 'node:path';
import { ProxyApi } from '../../api/proxy.ts';
import type { Session } from '../session.ts';
import type { WantedDownload } from './listed-download.ts';

/** Downloads as `downloadListed` does. @throws ClientError */
export async function runDownload(session: Session, asked: WantedDownload): Promise<void> {
  const { terminal } = session;
  const proxy = new ProxyApi(await session.service());
  const failure = new AbortController();
  using _ = { [Symbol.dispose]: () => failure.abort() };
  const signal = AbortSignal.any([terminal.signal, failure.signal]);
  const list = () => Array.fromAsync(proxy.list({ signal }));
  // Requested before the receipts are opened and most code is loaded. If something fails before it is awaited, it is given up.
  const listing = asked.wait ? undefined : list();
  listing?.catch(() => undefined);
  const wanted = { ...asked, folder: asked.folder === '-' ? '-' : resolve(terminal.folder, asked.folder) };
  const { downloadListed } = await import('./listed-download.ts');
  await downloadListed({ session, proxy, wanted, list: () => listing ?? list() });
}
