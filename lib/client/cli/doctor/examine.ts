import { publicKeyFingerprint, publicKeyOf } from '../../../crypt4gh/index.ts';
import { formatDuration } from '../../../terminal/output.ts';
import type { ServiceConnection } from '../../api/connection.ts';
import { ProxyApi } from '../../api/delivery-api.ts';
import { UnavailableError } from '../../api/errors.ts';
import { type Probe, probe } from '../../api/probe.ts';
import { pinCommand } from '../../api/receipts/key-set.ts';
import { readPrivateKey, wiping } from '../key-files.ts';
import { pinnedKeys, receiptKeys } from '../receipt-keys.ts';
import type { Session } from '../session.ts';
import { type CheckResult, failed, ok, skipped, warning, wrong } from './check.ts';
import { checkVisa } from './visa-check.ts';

type Checks<T = void> = AsyncGenerator<CheckResult, T>;

/** A person waits for the answer. */
export const quickRetries = { attempts: 2, firstMs: 500, longestMs: 1_000 };

/** Checks the settings of a session, the service and the keys, one after the other. Rethrows defects and interruptions. */
export async function* examine(session: Session): Checks {
  const service = yield* attempt('settings', () => session.service());
  const seen = service && (yield* address(session, service));
  yield* visa(session, service?.visa, seen);
  if (seen && service) {
    const proxy = new ProxyApi(service);
    yield* credentials(session, proxy);
    yield* receipts(session, proxy);
  } else {
    yield skipped('credentials', 'not tried: the address of the service does not work');
  }
  yield* keys(session);
}

/** @returns the answer of the service; `undefined` if it does not come from a data-out service */
async function* address({ terminal }: Session, { proxyUrl, transport }: ServiceConnection): Checks<Probe | undefined> {
  const check = 'address';
  if (proxyUrl === undefined) {
    const remedy = 'data-out setup asks for it; or give it with --url, DATA_OUT_URL, or url in the configuration file.';
    yield wrong(check, 'no address of the service is set', remedy);
    return undefined;
  }
  let seen: Probe;
  try {
    seen = await probe(transport, new URL('openapi.json', proxyUrl), terminal.signal);
  } catch (error) {
    const isOwn = !(error instanceof UnavailableError) || /certificate|your forward proxy/.test(error.message);
    yield failed(check, error, isOwn ? undefined : 'Check the address, then the network, firewalls, and HTTPS_PROXY.');
    return undefined;
  }
  const { status, json, elapsedMs } = seen;
  // The OpenAPI document of the proxy API.
  const { openapi, paths } = Object(json) as Readonly<Record<string, unknown>>;
  const isRight = status === 200 && typeof openapi === 'string' && '/files' in Object(paths);
  const { href, host } = proxyUrl;
  if (isRight) yield ok(check, `${href} answers after ${formatDuration(elapsedMs)}`, { url: href });
  else {
    const remedy =
      'Compare the whole address with the one that the archive gave you: it often ends in a version, as in https://data-out.example.org/v1/.';
    yield wrong(check, `${host} answers with status ${status}, but not as a data-out service`, remedy, 'protocol');
  }
  if (!isRight) return undefined;
  yield checkClock(seen);
  return seen;
}

/** Milliseconds: half of the leeway of 60 seconds that the service gives a visa. */
const skewMs = 30_000;

/** Compares this machine's clock with the service's. */
export function checkClock({ date, localDate }: Pick<Probe, 'date' | 'localDate'>): CheckResult {
  const check = 'clock';
  if (date === undefined) return skipped(check, 'the service does not say what time it is');
  // The header `Date` has whole seconds: on average, it is half a second behind.
  const ahead = localDate.getTime() - date.getTime() - 500;
  const seconds = Math.round(ahead / 1000);
  const details = { secondsAhead: seconds };
  if (Math.abs(ahead) < skewMs) return ok(check, `within ${Math.abs(seconds)} s of the service's clock`, details);
  const text = `this machine's clock is ${formatDuration(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'} the service's`;
  const remedy = 'Switch on automatic time (NTP): times of expiry are shown wrong, and certificates may be refused.';
  return warning(check, text, remedy, details);
}

/** @param read gives the visa, renewed if it must be */
async function* visa({ settings, terminal }: Session, read = settings.visa, seen?: Probe): Checks {
  const check = 'visa';
  if (settings.visa === undefined || read === undefined) {
    const remedy =
      'data-out login gets it, if the archive offers that; else data-out setup asks for it, or give it with --visa FILE, DATA_OUT_VISA_FILE, or visa_file in the configuration file.';
    yield wrong(check, 'no visa is set', remedy);
    return;
  }
  const token = yield* attempt(check, read);
  if (token !== undefined) yield checkVisa(token, seen?.date ?? terminal.now());
}

/** Whether the listing works. It needs the same credentials as a download. */
async function* credentials({ settings, terminal }: Session, proxy: ProxyApi): Checks {
  const check = 'credentials';
  if (settings.visa === undefined) {
    yield skipped(check, 'not tried: no visa is set');
    return;
  }
  try {
    const { files } = await proxy.listPage({ perPage: 1, signal: terminal.signal });
    const outbox = files.length === 0 ? 'which is empty' : 'which has files';
    const user = settings.basic ? 'visa, user name and password are' : 'the visa is';
    yield ok(check, `${user} accepted: the service shows your outbox, ${outbox}`);
  } catch (error) {
    yield failed(check, error);
  }
}

/** Which receipt keys are trusted; at the first use of the service they are pinned here. */
async function* receipts(session: Session, proxy: ProxyApi): Checks {
  const check = 'receipts';
  const found = await receiptKeys(session, proxy).catch((error: unknown) => failed(check, error));
  if ('verdict' in found) {
    yield found.code === 'not_found' ? skipped(check, 'the service publishes no receipt keys') : found;
    return;
  }
  const trusted = await pinnedKeys(session);
  yield ok(check, `trusted receipt keys: ${trusted.join(', ')}`, { trusted });
  for (const fingerprint of found.fingerprints.filter((each) => !trusted.includes(each))) {
    const text = `the service also publishes ${fingerprint}, which is trusted once a pinned key endorses it`;
    yield warning(check, text, `If the operator confirms it: ${pinCommand(trusted, fingerprint)}`);
  }
}

/** Reads every private key that the settings name. */
async function* keys(session: Session): Checks {
  const check = 'key';
  const { keyFiles } = session.settings;
  for (const path of keyFiles) {
    const privateKey = yield* attempt(check, () => readPrivateKey(path, session));
    using _wiped = wiping(privateKey);
    if (privateKey === undefined) continue;
    const fingerprint = publicKeyFingerprint(publicKeyOf(privateKey));
    yield ok(check, `${path}: public key with SHA-256 ${fingerprint}`, { path, fingerprint });
  }
  if (keyFiles.length === 0)
    yield skipped(check, 'no private key is named: --key FILE, DATA_OUT_KEY_FILE or key_files');
}

async function* attempt<T>(check: string, work: () => Promise<T>): Checks<T | undefined> {
  try {
    return await work();
  } catch (error) {
    yield failed(check, error);
    return undefined;
  }
}
