import { type ClientError, type ClientErrorCode, checkAddress, ServiceError, UnavailableError } from './errors.ts';
import { problemIn } from './json.ts';
import { retryAfterMs } from './retry.ts';
import type { TransportReply } from './transport.ts';

/** Statuses that say "later" (RFC 9110 § 15, RFC 6585 § 4). */
const later = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Those of them that leave open whether the request was acted on. */
const unclear = new Set([500, 502, 504]);

/** Most bytes that are read of a problem document. */
const problemBytes = 64 * 1024;

/**
 * Makes an error of a reply that refuses, in the service's own words (RFC 9457). Reads the reply to its end.
 * @param what names the request, such as `the listing`
 */
export async function refusal(reply: TransportReply, what: string, now: Date): Promise<ClientError> {
  const problem = await problemOf(reply);
  const { status } = reply;
  const { code: problemCode, requestId = reply.header('x-request-id') ?? reply.header('x-amzn-requestid') } = problem;
  const said = status === 431 ? headersTooLarge : wordsOf(problem);
  const message = `${what}: ${said ?? `the service answered with status ${status}`}${requestId ? ` (request ${oneLine(requestId)})` : ''}`;
  if (later.has(status)) {
    return new UnavailableError(message, {
      retryAfterMs: retryAfterMs(reply.header('retry-after'), now),
      mayBeDone: unclear.has(status),
      remedy: status === 500 ? 'Tell the operator the request id.' : 'Try again later.',
    });
  }
  const code = codes[status] ?? (status >= 400 && status < 500 ? 'usage' : 'protocol');
  const remedy = remedyOf(status, problemCode, code, said);
  return new ServiceError(code, message, { status, remedy });
}

function remedyOf(
  status: number,
  problemCode: string | undefined,
  code: ClientErrorCode,
  said: string | undefined,
): string | undefined {
  // RFC 6585 § 5: a gateway on the way may allow smaller headers than the service's own gateway.
  if (status === 431) return fewerHeaders;
  // This service always gives a code. Without one, another service answered, or a gateway that does not know the path.
  if (problemCode === undefined && status !== 407) return checkAddress;
  // No function of the service gives this status with this code: its gateway does, for refusals that it has no words for.
  if (status === 403 && problemCode === 'invalid_request') return refusedByGateway;
  if (code !== 'unauthenticated') return remedies[code];
  const [, rule] = /^the visa was refused \((\w+)\)/.exec(said ?? '') ?? [];
  return rule === undefined ? newCredentials : (visaRemedies[rule] ?? newVisa);
}

const refusedByGateway =
  'The gateway of the service refused the request before anything looked at the visa. A firewall may refuse the network that you work from. Try from another network; if that does not help, send this message to the archive.';
const headersTooLarge = 'a gateway refused the headers as too large; the visa or passport is the largest of them';

/** What to do about headers that are too large. */
export const fewerHeaders =
  'Save the one visa that this needs in a file and name it with --visa, or ask for a passport with fewer visas.';

const codes: Readonly<Record<number, ClientErrorCode>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  407: 'unauthenticated',
};

const remedies: Partial<Record<ClientErrorCode, string>> = {
  forbidden:
    'The visa does not grant this, or the dataset is not released: ask the data access committee or the operator.',
  not_found: 'Check the name with data-out list. A staged copy expires after some weeks; ask for a new export then.',
  protocol: checkAddress,
};

const newVisa = 'Get a new one: data-out login, or save a new visa in the same file, or name its file with --visa.';

const newCredentials =
  'Get a new visa, or check --username and the password (--password-file, DATA_OUT_PASSWORD). data-out setup asks for all of them.';
const otherArchive =
  'Check that the visa is for this archive, and that the address is the right one. If so, send this message to the archive.';
const damaged = 'Save the visa again as you got it: its file may hold only a part of it, or another text.';

/** By the service's code of the rule that the visa breaks, where a new visa alone would not help. */
const visaRemedies: Readonly<Record<string, string>> = {
  untrusted_issuer: otherArchive,
  untrusted_source: otherArchive,
  unknown_kid: otherArchive,
  wrong_audience: otherArchive,
  malformed_token: damaged,
  bad_signature: damaged,
  not_yet_valid: 'Wait until the visa is valid: data-out doctor says from when on.',
  denied: 'Ask the archive why it no longer accepts this visa.',
};

async function problemOf(reply: TransportReply) {
  const isJson = /^application\/(problem\+)?json\b/i.test(reply.header('content-type') ?? '');
  const body = isJson ? await reply.text(problemBytes).catch(() => '') : '';
  await reply.discard();
  return problemIn(body);
}

function wordsOf({ detail, title, violations }: ReturnType<typeof problemIn>): string | undefined {
  if (violations.length > 0) return violations.map(({ field, message }) => oneLine(`${field} ${message}`)).join('; ');
  const words = detail ?? title;
  return words && oneLine(words);
}

/** Text from the network as one line of at most 500 characters: it is shown to the user. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ').slice(0, 500);
}
