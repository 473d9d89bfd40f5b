import { type ClientError, type ClientErrorCode, checkAddress, ServiceError, UnavailableError } from './errors.ts';
import { problemIn } from './json.ts';
import { retryAfterMs } from './retry.ts';
import type { TransportReply } from './transport.ts';

/** Statuses that say "later" (RFC 9110 § 15, RFC 6585 § 4), and whether they leave open that the request was acted on. */
const later: ReadonlyMap<number, boolean> = new Map([
  ...[408, 425, 429, 503].map((status) => [status, false] as const),
  ...[500, 502, 504].map((status) => [status, true] as const),
]);

/** Most bytes that are read of a problem document. */
const problemBytes = 64 * 1024;

/** Who sends a request. Researchers send a visa, and both of the first two their user name and password. */
export type Sender = 'researcher' | 'administrator' | 'anyone';

/**
 * Makes an error of a reply that refuses, in the service's own words (RFC 9457). Reads the reply to its end.
 * @param what names the request, such as `the listing`
 */
export async function refusal(reply: TransportReply, what: string, sender: Sender): Promise<ClientError> {
  const { status } = reply;
  const isJson = /^application\/(problem\+)?json\b/i.test(reply.header('content-type') ?? '');
  const problem = problemIn(isJson ? await reply.text(problemBytes).catch(() => '') : '');
  await reply.discard();
  const { requestId = reply.header('x-request-id') ?? reply.header('x-amzn-requestid') } = problem;
  const said = status === 431 ? headersTooLarge : wordsOf(problem);
  const message = `${what}: ${said ?? `the service answered with status ${status}`}${requestId ? ` (request ${oneLine(requestId)})` : ''}`;
  const mayBeDone = later.get(status);
  if (mayBeDone !== undefined) {
    const retryAfter = retryAfterMs(reply.header('retry-after'));
    const remedy = status === 500 ? 'Tell the operator the request id.' : 'Try again later.';
    return new UnavailableError(message, { retryAfterMs: retryAfter, mayBeDone, remedy });
  }
  const code = codes[status] ?? (status >= 400 && status < 500 ? 'usage' : 'protocol');
  let remedy = (sender === 'administrator' ? administratorRemedies : remedies)[code];
  // RFC 6585 § 5: a gateway on the way may allow smaller headers than the service's own gateway.
  if (status === 431) remedy = fewerHeaders;
  // This service always gives a code. Without one, another service answered, or a gateway that does not know the path.
  else if (problem.code === undefined && status !== 407) remedy = checkAddress;
  // No function of the service gives this status with this code: its gateway does, for refusals that it has no words for.
  else if (status === 403 && problem.code === 'invalid_request') remedy = refusedByGateway;
  else if (said?.startsWith('the visa was refused')) remedy = newVisa;
  return new ServiceError(code, message, { status, remedy });
}

const refusedByGateway =
  'The gateway of the service refused the request before anything looked at the visa. A firewall may refuse the network that you work from. Try from another network; if that does not help, send this message to the archive.';
const headersTooLarge = 'a gateway refused the headers as too large; the visa or passport is the largest of them';

/** What to do about headers that are too large. */
export const fewerHeaders =
  'Save the one visa that this needs in a file and name it with --visa, or ask for a passport with fewer visas.';

const newVisa =
  'Get a new visa with data-out login, or save one in the same file, or name its file with --visa. If the service refuses that one as well, send this message to the archive.';

const codes: Readonly<Record<number, ClientErrorCode>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  407: 'unauthenticated',
};

const remedies: Partial<Record<ClientErrorCode, string>> = {
  unauthenticated:
    'Check the user name and the password (--username, --password-file, DATA_OUT_PASSWORD), or get a new visa. data-out setup asks for all of them.',
  forbidden:
    'The visa does not grant this, or the dataset is not released: ask the data access committee or the operator.',
  not_found: 'Check the name with data-out list. A staged copy expires after some weeks; ask for a new export then.',
  protocol: checkAddress,
};

const administratorRemedies: typeof remedies = {
  ...remedies,
  unauthenticated:
    "Check the administrator's user name and password (--username, --password-file, DATA_OUT_ADMIN_USERNAME, " +
    'DATA_OUT_ADMIN_PASSWORD_FILE, DATA_OUT_ADMIN_PASSWORD); researcher credentials do not work here.',
  forbidden: 'This user is not an administrator: ask the operator.',
  not_found:
    'Check --kind and the address, and the request id if you gave one. If the request is only seconds old, ask again.',
};

function wordsOf({ detail, title, violations }: ReturnType<typeof problemIn>): string | undefined {
  if (violations.length > 0) return violations.map(({ field, message }) => oneLine(`${field} ${message}`)).join('; ');
  const words = detail ?? title;
  return words && oneLine(words);
}

/** Text from the network as one line of at most 500 characters: it is shown to the user. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ').slice(0, 500);
}
