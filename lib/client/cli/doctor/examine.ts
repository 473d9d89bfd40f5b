import type { ServiceConnection } from '../../api/connection.ts';
import { DataOutApi } from '../../api/data-out.ts';
import type { Probe } from '../../api/probe.ts';
import { ProxyApi } from '../../api/proxy.ts';
import { addressOf, PinFile, receiptKeys } from '../receipt-keys.ts';
import type { Session } from '../session.ts';
import { type CheckResult, failed } from './check.ts';
import { checkHeader, checkKeys, readLocalHeader, readStagedHeader } from './key-checks.ts';
import { checkApi, checkClock, directApi, proxyApi } from './service-checks.ts';
import { checkVisa } from './visa-check.ts';

/** The files whose header is looked at, too. */
export interface ExaminedHeaders {
  /** Path of a local container, or of a header alone. */
  readonly header?: string;
  /** Name of a file in the outbox. */
  readonly staged?: string;
}

/** A person waits for the answer. */
export const quickRetries = { attempts: 2, firstMs: 500, longestMs: 1_000 };

const refused = 'Correct what the service names: get a new visa, or look at --username and the password.';

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
  else yield { check: 'credentials', verdict: 'skipped', text: 'not tried: the address of the service does not work' };
  if (service?.dataOutUrl) yield* direct(session, service, service.dataOutUrl);
  else yield { check: 'direct', verdict: 'skipped', text: 'no address for direct access is set: --direct-url' };
  if (proxy) yield* receipts(session, proxy);
  yield* keysAndHeaders(session, options, proxy);
}

export async function* checkAddress(
  session: Session,
  service: ServiceConnection,
): AsyncGenerator<CheckResult, Probe | undefined> {
  const { proxyUrl } = service;
  if (proxyUrl === undefined) {
    const text = 'no address of the service is set';
    const remedy = 'data-out setup asks for it; or give it with --url, DATA_OUT_URL, or url in the configuration file.';
    yield { check: 'address', verdict: 'failed', code: 'usage', text, remedy };
    return undefined;
  }
  const { results, seen } = await checkApi(proxyApi(proxyUrl), service, session.terminal.signal);
  yield* results;
  if (seen) yield checkClock(seen);
  return seen;
}

async function* visa({ settings, terminal }: Session, seen: Probe | undefined): AsyncGenerator<CheckResult, void> {
  const check = 'visa';
  const read = settings.visa;
  if (read === undefined) {
    const remedy =
      'data-out setup asks for it; or give it with --visa FILE, DATA_OUT_VISA_FILE, or visa_file in the configuration file.';
    yield { check, verdict: 'failed', code: 'usage', text: 'no visa is set', remedy };
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
    yield { check, verdict: 'skipped', text: 'not tried: no visa is set' };
    return;
  }
  const list = () => proxy.listPage({ perPage: 1, signal: terminal.signal });
  const page = yield* attempt(check, list, { unauthenticated: refused });
  if (page === undefined) return;
  const outbox = page.files.length === 0 ? 'which is empty' : 'which has files';
  const user = settings.basic ? 'visa, user name and password are' : 'the visa is';
  yield { check, verdict: 'ok', text: `${user} accepted: the service shows your outbox, ${outbox}` };
}

async function* direct(session: Session, service: ServiceConnection, url: URL): AsyncGenerator<CheckResult, void> {
  const { results, seen } = await checkApi(directApi(url), service, session.terminal.signal);
  yield* results;
  if (seen === undefined || session.settings.visa === undefined) return;
  const api = new DataOutApi(service);
  const ids = yield* attempt('datasets', () => api.datasets({ signal: session.terminal.signal }));
  if (ids === undefined) return;
  const details = { datasets: ids };
  if (ids.length > 0) {
    yield { check: 'datasets', verdict: 'ok', text: `granted and released: ${ids.join(', ')}`, details };
    return;
  }
  const remedy = 'Ask the data access committee whether the dataset is released.';
  yield { check: 'datasets', verdict: 'warning', text: 'no dataset is both granted and released', remedy, details };
}

/** Which receipt keys are trusted; at the first use of the service they are pinned here. */
async function* receipts(session: Session, proxy: ProxyApi): AsyncGenerator<CheckResult, void> {
  const check = 'receipts';
  const keys = await receiptKeys(session, proxy).catch((error: unknown) => failed(check, error));
  if ('verdict' in keys) {
    yield keys.code === 'not_found'
      ? { check, verdict: 'skipped', text: 'the service publishes no receipt keys' }
      : keys;
    return;
  }
  const { trusted, refused } = await new PinFile(session).of(addressOf(session));
  const details = { trusted, refused };
  yield {
    check,
    verdict: 'ok',
    text: `trusted receipt keys: ${trusted.join(', ') || 'none'}`,
    details,
  };
  for (const fingerprint of keys.fingerprints.filter((each) => !trusted.includes(each) && !refused.includes(each))) {
    yield {
      check,
      verdict: 'warning',
      text: `the service also publishes ${fingerprint}, which is trusted once a pinned key endorses it`,
      remedy: `If the operator confirms it: data-out receipt-keys --accept ${fingerprint}`,
    };
  }
}

async function* keysAndHeaders(
  session: Session,
  { header, staged }: ExaminedHeaders,
  proxy: ProxyApi | undefined,
): AsyncGenerator<CheckResult, void> {
  const { results, keys } = await checkKeys(session);
  using _wiped = keys;
  yield* results;
  if (header !== undefined) {
    const bytes = yield* attempt('header', () => readLocalHeader(header, session.terminal.folder));
    if (bytes) yield checkHeader(header, bytes, keys.files);
  }
  if (staged !== undefined && proxy === undefined) {
    const text = `${staged}: not tried, because the address of the service does not work`;
    yield { check: 'header', verdict: 'skipped', text };
  } else if (staged !== undefined && proxy) {
    const bytes = yield* attempt('header', () => readStagedHeader(proxy, staged, session.terminal.signal));
    if (bytes) yield checkHeader(staged, bytes, keys.files);
  }
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
