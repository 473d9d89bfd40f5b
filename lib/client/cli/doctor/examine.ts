import { parseJson } from '../../../common/untrusted-json.ts';
import { publicKeyFingerprint, publicKeyOf } from '../../../crypt4gh/index.ts';
import { formatDuration } from '../../../terminal/output.ts';
import { authorized, type ServiceConnection } from '../../api/connection.ts';
import { DeliveryApi } from '../../api/delivery-api.ts';
import { ServiceError, UnavailableError } from '../../api/errors.ts';
import { timeIn } from '../../api/json.ts';
import { type DecodedVisa, datasetsOf, decodeVisaOrPassport, expiryOf } from '../../api/order/decoded-visa.ts';
import { pinCommand } from '../../api/receipts/key-set.ts';
import { readPrivateKey, wiping } from '../key-files.ts';
import { pinnedKeys, receiptKeys } from '../receipt-keys.ts';
import { heldVisas } from '../secrets.ts';
import type { Session } from '../session.ts';
import { visaRemedy } from '../settings.ts';
import { type CheckResult, failed } from './check.ts';

type Checks<T = void> = AsyncGenerator<CheckResult, T>;

/** A person waits for the answer. */
export const quickRetries = { attempts: 2, firstMs: 500, longestMs: 1_000 };

/** Checks the settings of a session, the service and the keys, one after the other. Rethrows defects and interruptions. */
export async function* examine(session: Session): Checks {
  const service = yield* attempt('settings', () => session.service());
  const seen = service && (yield* address(session, service));
  yield* visa(session, service, seen);
  if (seen && service) {
    const proxy = new DeliveryApi(service);
    yield* credentials(session, proxy);
    yield* receipts(session, proxy);
  } else {
    const text = 'not tried: the address of the service does not work';
    yield { check: 'credentials', verdict: 'skipped', text };
  }
  yield* keys(session);
}

/** The time of an answer. */
interface Clocks {
  /** By the service's clock, to the second. */
  readonly date: Date | undefined;
  /** By this machine's clock: half-way between request and answer. */
  readonly localDate: Date;
}

/** @returns when the service answered; `undefined` if the answer does not come from a data-out service */
async function* address({ terminal }: Session, service: ServiceConnection): Checks<Clocks | undefined> {
  const check = 'address';
  const { proxyUrl, transport } = service;
  if (proxyUrl === undefined) {
    const remedy = 'data-out setup asks for it; or give it with --url, DATA_OUT_URL, or url in the configuration file.';
    yield { check, verdict: 'failed', text: 'no address of the service is set', remedy };
    return undefined;
  }
  const now = () => transport.timing.now().getTime();
  const sent = now();
  // The OpenAPI document of the delivery API.
  const url = new URL('openapi.json', proxyUrl);
  const request = { what: check, as: 'anyone', url, signal: terminal.signal } as const;
  let document: unknown;
  let date: Date | undefined;
  try {
    [document, date] = await authorized(service, request, async (reply) => {
      return [parseJson(await reply.text(documentBytes)), timeIn(reply.header('date'))] as const;
    });
  } catch (error) {
    // Another service refuses the request.
    if (!(error instanceof ServiceError)) {
      const isOwn = !(error instanceof UnavailableError) || /certificate|your forward proxy/.test(error.message);
      yield failed(
        check,
        error,
        isOwn ? undefined : 'Check the address, then the network, firewalls, and HTTPS_PROXY.',
      );
      return undefined;
    }
  }
  const received = now();
  const { openapi, paths } = Object(document) as Readonly<Record<string, unknown>>;
  const { href, host } = proxyUrl;
  if (typeof openapi !== 'string' || !('/files' in Object(paths))) {
    const remedy =
      'Compare the whole address with the one that the archive gave you: it often ends in a version, as in https://data-out.example.org/v1/.';
    yield {
      check,
      verdict: 'failed',
      code: 'protocol',
      text: `${host} answers, but not as a data-out service`,
      remedy,
    };
    return undefined;
  }
  const text = `${href} answers after ${formatDuration(received - sent)}`;
  yield { check, verdict: 'ok', text, details: { url: href } };
  const clocks = {
    date,
    localDate: new Date((sent + received) / 2),
  };
  yield checkClock(clocks);
  return clocks;
}

const documentBytes = 4 * 1024 * 1024;

/** Milliseconds: half of the leeway of 60 seconds that the service gives a visa. */
const skewMs = 30_000;

/** Compares this machine's clock with the service's. */
export function checkClock({ date, localDate }: Clocks): CheckResult {
  const check = 'clock';
  if (date === undefined) return { check, verdict: 'skipped', text: 'the service does not say what time it is' };
  // The header `Date` has whole seconds: on average, it is half a second behind.
  const ahead = localDate.getTime() - date.getTime() - 500;
  const seconds = Math.round(ahead / 1000);
  const details = { secondsAhead: seconds };
  if (Math.abs(ahead) < skewMs) {
    return { check, verdict: 'ok', text: `within ${Math.abs(seconds)} s of the service's clock`, details };
  }
  const text = `this machine's clock is ${formatDuration(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'} the service's`;
  const remedy = 'Switch on automatic time (NTP): times of expiry are shown wrong, and certificates may be refused.';
  return { check, verdict: 'warning', text, remedy, details };
}

async function* visa({ settings, terminal }: Session, service: ServiceConnection | undefined, seen?: Clocks): Checks {
  const check = 'visa';
  if (settings.visa === undefined) {
    const remedy =
      'data-out login gets it, if the archive offers that; or data-out setup asks for it; or give it with --visa FILE, DATA_OUT_VISA_FILE, or visa_file in the configuration file.';
    yield { check, verdict: 'failed', text: 'no visa is set', remedy };
    return;
  }
  const token = yield* attempt(check, service?.visa ?? settings.visa);
  if (token === undefined) return;
  const held = yield* attempt(check, () => heldVisas(settings.visaFile).then((visas) => ({ visas })));
  if (held) yield checkVisa(token, seen?.date ?? terminal.now(), visaRemedy(settings), held.visas);
}

/** A visa that ends sooner may end within the first requests of a download. */
const soonMs = 300_000;
/** The most datasets that the line for people names. */
const shown = 5;

/**
 * Checks the claims of a visa or passport, without verifying them: only the service knows which issuers it trusts.
 * @param now by the service's clock if it is known, else by this machine's
 * @param renew what the user does to get a new one
 * @param held all visas, if the token is one of several
 */
export function checkVisa(token: string, now: Date, renew: string, held?: readonly DecodedVisa[]): CheckResult {
  const decoded = decodeVisaOrPassport(token);
  const wrong = { check: 'visa', verdict: 'failed', code: 'unauthenticated', remedy: renew } as const;
  if (decoded === undefined) return { ...wrong, text: 'the token is neither a GA4GH visa nor a passport' };
  const { kind, issuer, visas, unreadable, notBefore } = decoded;
  const expires = expiryOf(decoded);
  const all = held ?? visas;
  const datasets = datasetsOf({ visas: held?.filter((each) => !each.expires || each.expires > now) ?? visas });
  const expired = datasetsOf({ visas: all }).filter((dataset) => !datasets.includes(dataset));
  const subject = visas[0]?.subject;
  const details = { kind, issuer, subject, expires: expires?.toISOString(), datasets, verified: false };
  const about = `${kind} of ${issuer} for ${subject ?? 'no subject'}`;
  const fail = (text: string, remedy = renew) => {
    return { ...wrong, details, remedy, text: `${about}: ${text} (decoded, not verified)` };
  };
  if (expires === undefined) return fail('it has no time of expiry');
  const left = expires.getTime() - now.getTime();
  if (left <= 0) return fail(`expired at ${expires.toISOString()}`);
  if (notBefore && notBefore > now) return fail(`not valid before ${notBefore.toISOString()}`, 'Wait until then.');
  if (datasets.length === 0) return fail('it grants no dataset', 'Ask the data access committee.');
  const more = datasets.length > shown ? ` and ${datasets.length - shown} more` : '';
  const odd = unreadable > 0 ? `; ${unreadable} tokens in it are not visas` : '';
  const lost = expired.length > 0 ? `; expired: ${expired.slice(0, shown).join(', ')}` : '';
  const grants = `grants ${datasets.slice(0, shown).join(', ')}${more}${lost}${odd}`;
  const until = `until ${expires.toISOString()} (${formatDuration(left)} left)`;
  const text = `${about}, ${until}, ${grants} (decoded, not verified)`;
  const soon = left < soonMs ? 'It expires soon: get a new one before a long download.' : undefined;
  const remedy = expired.length > 0 ? renew : soon;
  return { check: 'visa', verdict: remedy ? 'warning' : 'ok', text, remedy, details };
}

/** Whether the listing works. It needs the same credentials as a download. */
async function* credentials({ settings, terminal }: Session, proxy: DeliveryApi): Checks {
  const check = 'credentials';
  if (settings.visa === undefined) {
    yield { check, verdict: 'skipped', text: 'not tried: no visa is set' };
    return;
  }
  const first = yield* attempt(check, () => proxy.list({ perPage: 1, signal: terminal.signal }).next());
  if (first === undefined) return;
  const outbox = first.done ? 'which is empty' : 'which has files';
  const user = settings.basic ? 'visa, user name and password are' : 'the visa is';
  yield { check, verdict: 'ok', text: `${user} accepted: the service shows your outbox, ${outbox}` };
}

/** Which receipt keys are trusted; at the first use of the service they are pinned here. */
async function* receipts(session: Session, proxy: DeliveryApi): Checks {
  const check = 'receipts';
  const found = await receiptKeys(session, proxy).catch((error: unknown) => failed(check, error));
  if ('verdict' in found) {
    const without = { check, verdict: 'skipped', text: 'the service publishes no receipt keys' } as const;
    yield found.code === 'not_found' ? without : found;
    return;
  }
  const trusted = await pinnedKeys(session);
  yield { check, verdict: 'ok', text: `trusted receipt keys: ${trusted.join(', ')}`, details: { trusted } };
  for (const fingerprint of found.fingerprints.filter((each) => !trusted.includes(each))) {
    const text = `the service also publishes ${fingerprint}, which is trusted once a pinned key endorses it`;
    const remedy = `If the operator confirms it: ${pinCommand(trusted, fingerprint)}`;
    yield { check, verdict: 'warning', text, remedy };
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
    const text = `${path}: public key with SHA-256 ${fingerprint}`;
    yield { check, verdict: 'ok', text, details: { path, fingerprint } };
  }
  if (keyFiles.length > 0) return;
  yield { check, verdict: 'skipped', text: 'no private key is named: --key FILE, DATA_OUT_KEY_FILE or key_files' };
}

async function* attempt<T>(check: string, work: () => Promise<T>): Checks<T | undefined> {
  try {
    return await work();
  } catch (error) {
    yield failed(check, error);
    return undefined;
  }
}
