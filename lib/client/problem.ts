import { type ClientError, type ClientErrorCode, ServiceError, UnavailableError } from './errors.ts';
import { retryAfterMs } from './retry.ts';
import type { TransportReply } from './transport.ts';

/** Statuses that say "later" (RFC 9110 § 15, RFC 6585 § 4). */
const later = new Set([408, 425, 429, 500, 502, 503, 504]);

/** A problem document is short. */
const problemBytes = 64 * 1024;

/**
 * The error that a refusing reply is, with the service's own words (RFC 9457, or DRS's Error). Reads the reply to its end.
 *
 * @param what was asked for, such as `the listing`
 */
export async function refusal(reply: TransportReply, what: string, now: Date): Promise<ClientError> {
  const problem = await problemIn(reply);
  const { status } = reply;
  const { code: problemCode, requestId = reply.header('x-request-id') ?? reply.header('x-amzn-requestid') } = problem;
  const said = status === 431 ? headersTooLarge : wordsOf(problem);
  const message = `${what}: ${said ?? `the service answered with status ${status}`}${requestId ? ` (request ${oneLine(requestId)})` : ''}`;
  if (later.has(status)) {
    return new UnavailableError(message, {
      retryAfterMs: retryAfterMs(reply.header('retry-after'), now),
      remedy: status === 500 ? 'Tell the operator the request id.' : 'Try again later.',
    });
  }
  const code = codes[status] ?? (status >= 400 && status < 500 ? 'usage' : 'protocol');
  const remedy = remedyOf(status, problemCode, code, said);
  return new ServiceError(code, message, { status, problemCode, requestId, remedy });
}

function remedyOf(
  status: number,
  problemCode: string | undefined,
  code: ClientErrorCode,
  said: string | undefined,
): string | undefined {
  // RFC 6585 § 5: on the way to the service, a gateway may take less than the service's own does.
  if (status === 431) return fewerHeaders;
  // The service itself says why: who does not is another one, or a gateway that knows no such path.
  if (problemCode === undefined && status !== 407) return remedies.protocol;
  return code === 'unauthenticated' ? renewal(said) : remedies[code];
}

const headersTooLarge = 'a gateway refused the headers as too large; the visa or passport is the largest of them';

/** What to do about headers that are too large. */
export const fewerHeaders =
  'Save the one visa that this needs in a file and name that with --visa, or ask for a passport with fewer visas; data-out doctor shows what is in it.';

const codes: Readonly<Record<number, ClientErrorCode>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  407: 'unauthenticated',
};

const remedies: Partial<Record<ClientErrorCode, string>> = {
  forbidden: 'The visa does not grant this, or the dataset is not released: ask whoever decides about access.',
  not_found: 'Look at the name with data-out list; a staged copy expires after some weeks and can be exported again.',
  protocol: 'Look at the address: what answers there does not behave like a data-out service.',
};

/** What to do about refused credentials, as far as the service says which of them it refused. */
function renewal(said = ''): string {
  if (/password|user name/i.test(said)) {
    return 'Look at --username, and at the password: --password-file, DATA_OUT_PASSWORD, or what you typed.';
  }
  if (/visa|passport/i.test(said)) return 'Get a new visa, and name its file with --visa; data-out doctor looks at it.';
  return 'Get a new visa, look at user name and password; data-out doctor says which of them is refused.';
}

interface Problem {
  readonly detail?: string | undefined;
  readonly title?: string | undefined;
  readonly code?: string | undefined;
  readonly requestId?: string | undefined;
  readonly violations?: readonly string[];
}

async function problemIn(reply: TransportReply): Promise<Problem> {
  const type = reply.header('content-type') ?? '';
  if (!/^application\/(problem\+)?json\b/i.test(type)) {
    await reply.discard();
    return {};
  }
  try {
    const parsed: unknown = JSON.parse(await reply.text(problemBytes));
    if (typeof parsed !== 'object' || parsed === null) return {};
    const text = (name: string) => {
      const value = (parsed as Record<string, unknown>)[name];
      return typeof value === 'string' && value !== '' ? oneLine(value) : undefined;
    };
    const violations = (parsed as { violations?: unknown }).violations;
    return {
      // DRS has a word of its own for it.
      detail: text('detail') ?? text('msg'),
      title: text('title'),
      code: text('code'),
      requestId: text('requestId'),
      violations: Array.isArray(violations) ? violations.flatMap(violationOf) : [],
    };
  } catch {
    return {};
  }
}

function violationOf(violation: unknown): string[] {
  if (typeof violation !== 'object' || violation === null) return [];
  const { field, message } = violation as { field?: unknown; message?: unknown };
  return typeof field === 'string' && typeof message === 'string' ? [oneLine(`${field} ${message}`)] : [];
}

function wordsOf({ detail, title, violations = [] }: Problem): string | undefined {
  return violations.length > 0 ? violations.join('; ') : (detail ?? title);
}

/** Text from the network, for one line of a message: without control characters, at most 500 characters. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ').slice(0, 500);
}
