import type { ServiceConnection } from '../../api/connection.ts';
import { pinCommand } from '../../api/delivery/key-set.ts';
import type { Probe } from '../../api/probe.ts';
import { ProxyApi } from '../../api/proxy.ts';
import { PrivateKeys } from '../key-files.ts';
import { pinnedKeys, receiptKeys } from '../receipt-keys.ts';
import type { Session } from '../session.ts';
import { type CheckResult, failed, ok, skipped, warning, wrong } from './check.ts';
import { checkHeader, checkKeys, readLocalHeader, readStagedHeader } from './key-checks.ts';
import { checkClock, checkService } from './service-checks.ts';
import { checkVisa } from './visa-check.ts';

/** Files whose header is also examined. */
export interface ExaminedHeaders {
  /** Path of a local container, or of a header alone. */
  readonly header?: string;
  /** Name of a file in the outbox. */
  readonly staged?: string;
}

/** A person waits for the answer. */
export const quickRetries = { attempts: 2, firstMs: 500, longestMs: 1_000 };

const refused = 'Correct what the service names: get a new visa, or check --username and the password.';

/** Checks the settings of a session, the service and the keys, one after the other. Rethrows defects and interruptions. */
export async function* examine(
  session: Session,
  options: ExaminedHeaders,
): AsyncGenerator<CheckResult, void, undefined> {
  const service = yield* attempt('settings', () => session.service());
  const seen = service && (yield* checkAddress(session, service));
  yield* visa(session, seen);
  const proxy = seen && service && new ProxyApi(service);
  if (proxy) yield* checkCredentials(session, proxy);
  else yield skipped('credentials', 'not tried: the address of the service does not work');
  if (proxy) yield* receipts(session, proxy);
  yield* keysAndHeaders(session, options, proxy);
}

export async function* checkAddress(
  session: Session,
  service: ServiceConnection,
): AsyncGenerator<CheckResult, Probe | undefined> {
  const { proxyUrl } = service;
  if (proxyUrl === undefined) {
    const remedy = 'data-out setup asks for it; or give it with --url, DATA_OUT_URL, or url in the configuration file.';
    yield wrong('address', 'no address of the service is set', remedy);
    return undefined;
  }
  const seen = yield* checkService(proxyUrl, service, session.terminal.signal);
  if (seen) yield checkClock(seen);
  return seen;
}

async function* visa({ settings, terminal }: Session, seen: Probe | undefined): AsyncGenerator<CheckResult, void> {
  const check = 'visa';
  const read = settings.visa;
  if (read === undefined) {
    const remedy =
      'data-out setup asks for it; or give it with --visa FILE, DATA_OUT_VISA_FILE, or visa_file in the configuration file.';
    yield wrong(check, 'no visa is set', remedy);
    return;
  }
  const token = yield* attempt(check, read);
  if (token !== undefined) yield checkVisa(token, seen?.date ?? terminal.now());
}

/** Whether the listing works. It needs the same credentials as a download. */
export async function* checkCredentials(
  { settings, terminal }: Session,
  proxy: ProxyApi,
): AsyncGenerator<CheckResult, void> {
  const check = 'credentials';
  if (settings.visa === undefined) {
    yield skipped(check, 'not tried: no visa is set');
    return;
  }
  const list = () => proxy.listPage({ perPage: 1, signal: terminal.signal });
  const page = yield* attempt(check, list, { unauthenticated: refused });
  if (page === undefined) return;
  const outbox = page.files.length === 0 ? 'which is empty' : 'which has files';
  const user = settings.basic ? 'visa, user name and password are' : 'the visa is';
  yield ok(check, `${user} accepted: the service shows your outbox, ${outbox}`);
}

/** Which receipt keys are trusted; at the first use of the service they are pinned here. */
async function* receipts(session: Session, proxy: ProxyApi): AsyncGenerator<CheckResult, void> {
  const check = 'receipts';
  const keys = await receiptKeys(session, proxy).catch((error: unknown) => failed(check, error));
  if ('verdict' in keys) {
    yield keys.code === 'not_found' ? skipped(check, 'the service publishes no receipt keys') : keys;
    return;
  }
  const trusted = await pinnedKeys(session);
  yield ok(check, `trusted receipt keys: ${trusted.join(', ')}`, { trusted });
  for (const fingerprint of keys.fingerprints.filter((each) => !trusted.includes(each))) {
    const text = `the service also publishes ${fingerprint}, which is trusted once a pinned key endorses it`;
    yield warning(check, text, `If the operator confirms it: ${pinCommand(trusted, fingerprint)}`);
  }
}

async function* keysAndHeaders(
  session: Session,
  { header, staged }: ExaminedHeaders,
  proxy: ProxyApi | undefined,
): AsyncGenerator<CheckResult, void> {
  using keys = new PrivateKeys();
  yield* checkKeys(session, keys);
  const { folder, signal } = session.terminal;
  const check = async function* (name: string, read: () => Promise<Uint8Array>) {
    const result = yield* attempt('header', async () => checkHeader(name, await read(), keys.files));
    if (result) yield result;
  };
  if (header !== undefined) yield* check(header, () => readLocalHeader(header, folder));
  if (staged === undefined) return;
  if (proxy) yield* check(staged, () => readStagedHeader(proxy, staged, signal));
  else yield skipped('header', `${staged}: not tried, because the address of the service does not work`);
}

async function* attempt<T>(
  check: string,
  work: () => Promise<T>,
  remedies: Parameters<typeof failed>[2] = {},
): AsyncGenerator<CheckResult, T | undefined> {
  try {
    return await work();
  } catch (error) {
    yield failed(check, error, remedies);
    return undefined;
  }
}
