import { formatDuration } from '../../../terminal/output.ts';
import type { ServiceConnection } from '../../api/connection.ts';
import { ClientError } from '../../api/errors.ts';
import { isLoopback } from '../../api/forward-proxy.ts';
import { type Probe, probe } from '../../api/probe.ts';
import { type CheckResult, failed, ok, skipped, warning } from './check.ts';

const dayMs = 86_400_000;
/** Days. The operator should renew a certificate that ends sooner. */
const soonDays = 7;
/** Milliseconds: half of the leeway of 60 seconds that the service gives a visa. */
const skewMs = 30_000;

const unreachable = 'Check the address, then the network, firewalls, and HTTPS_PROXY.';

/**
 * Checks the address and the certificate of the service. @returns its answer; `undefined` if it does not come from a data-out
 * service
 */
export async function* checkService(
  url: URL,
  { transport }: ServiceConnection,
  signal: AbortSignal,
): AsyncGenerator<CheckResult, Probe | undefined> {
  const check = 'address';
  let seen: Probe;
  try {
    seen = await probe(transport, new URL('openapi.json', url), signal);
  } catch (error) {
    const message = error instanceof ClientError ? error.message : '';
    const isOfProxy = message.includes('your forward proxy');
    if (/certificate/.test(message)) yield failed('certificate', error);
    else yield failed(check, error, isOfProxy ? {} : { unavailable: unreachable });
    return undefined;
  }
  const { status, json, elapsedMs } = seen;
  const isRight = status === 200 && isDescription(json);
  if (isRight) {
    yield ok(check, `${url.href} answers after ${formatDuration(elapsedMs)}`, { url: url.href });
  } else {
    const text = `${url.host} answers with status ${status}, but not as a data-out service`;
    const remedy =
      'Compare the whole address with the one that the archive gave you: it often ends in a version, as in https://data-out.example.org/v1/.';
    yield failed(check, new ClientError('protocol', text, { remedy }));
  }
  yield checkCertificate(url, seen);
  return isRight ? seen : undefined;
}

/** Whether this is the OpenAPI document of the proxy API. */
function isDescription(json: unknown): boolean {
  const { openapi, paths } = Object(json) as Readonly<Record<string, unknown>>;
  return typeof openapi === 'string' && typeof paths === 'object' && paths !== null && '/files' in paths;
}

function checkCertificate(url: URL, { certificate, date, localDate }: Probe): CheckResult {
  const check = 'certificate';
  if (url.protocol !== 'https:') {
    const text = `${url.protocol}//${url.host} is not encrypted`;
    if (isLoopback(url)) return skipped(check, `${text}, which is safe on this machine`);
    return warning(check, text, 'Use the https:// address: anyone on the network can read your credentials.');
  }
  if (certificate === undefined) return ok(check, `the certificate of ${url.host} is trusted`);
  const { subject, issuer, validUntil } = certificate;
  const days = Math.floor((validUntil.getTime() - (date ?? localDate).getTime()) / dayMs);
  const text = `for ${subject}, by ${issuer}, until ${validUntil.toISOString().slice(0, 10)} (${days} days)`;
  const details = { url: url.href, subject, issuer, validUntil: validUntil.toISOString() };
  if (days >= soonDays) return ok(check, text, details);
  return warning(check, text, 'Ask the operator of the service to renew it.', details);
}

/** Compares this machine's clock with the service's. */
export function checkClock({ date, localDate }: Probe): CheckResult {
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
