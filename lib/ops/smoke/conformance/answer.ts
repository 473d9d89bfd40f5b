import { directChallenge, proxyChallenge } from '../../../contract/http.ts';
import { expectThat } from '../check.ts';
import type { Run } from '../run.ts';
import type { WireReply, WireRequest } from '../wire.ts';
import type { Operation } from './request.ts';

type Headers = Readonly<Record<string, string | RegExp>>;

export interface Answer {
  readonly status: number;
  /** Of the problem document. @default - what docs/api.md has for the status */
  readonly code?: string | undefined;
  /** Names in small letters. */
  readonly headers?: Headers;
  /** The fields that `violations` names. */
  readonly fields?: readonly string[];
  /** All such answers of an operation are the same, except for their request ids. */
  readonly alike?: boolean;
  /** Whether the reply is the promised one. */
  readonly holds?: (reply: WireReply, run: Run) => boolean;
}

/** An answer in short: its status, then its code, then `alike` or the fields at fault: `400 unsupported_format`, `400 : page`. */
export type Wanted = number | string | Answer;

export function answerOf(wanted: Wanted): Answer {
  if (typeof wanted === 'object') return wanted;
  const [, status, code, fields] = /^(\d+) ?(\w+)?(?: ?: (.+))?$/.exec(`${wanted}`) ?? [];
  if (code === 'alike') return { status: Number(status), alike: true };
  return { status: Number(status), code, ...(fields !== undefined && { fields: fields.split(' ') }) };
}

/** @param holds whether a JSON body is the promised one */
export function shows(
  holds: (body: ReturnType<typeof JSON.parse>, run: Run) => boolean,
  headers: Headers = {},
): Answer {
  return { status: 200, headers, holds: ({ text }, run) => holds(JSON.parse(text), run) };
}

/** Of docs/api.md. */
const codes: Readonly<Record<number, string>> = {
  ...{ 400: 'invalid_request', 401: 'unauthenticated', 403: 'forbidden', 404: 'not_found', 412: 'precondition_failed' },
  ...{ 413: 'request_too_large', 414: 'invalid_request', 416: 'range_not_satisfiable', 429: 'throttled' },
  ...{ 431: 'invalid_request', 500: 'internal_error', 503: 'temporarily_unavailable' },
};

/** @throws OpsError with what was expected and what came. It never repeats a body, which may have a secret */
export function expectAnswer(
  operation: Operation,
  { method, path }: WireRequest,
  reply: WireReply,
  answer: Answer,
  run: Run,
) {
  const { status, code = codes[status], fields } = answer;
  const isHead = method === 'HEAD';
  const problem = problemOf(reply);
  const wanted = status < 400 || isHead ? `${status}` : `${status} ${code}`;
  const came = problem.code === undefined ? `${reply.status}` : `${reply.status} ${problem.code}`;
  expectThat(came === wanted, `expected ${wanted}, got ${came} for ${method} /${path.slice(0, 100)}`);
  // DRS and htsget write their own challenge, which API Gateway renames.
  const isRenamed = reply.headers['x-amzn-remapped-www-authenticate'] !== undefined;
  const headers: Headers = {
    'x-amzn-requestid': status >= 400 && !isHead ? String(problem.requestId) : /^[0-9a-f-]{20,}$/i,
    ...((status >= 400 || !operation.path.startsWith('/.well-known/')) && { 'cache-control': 'no-store' }),
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'www-authenticate':
      status === 401 && !isRenamed ? { delivery: proxyChallenge, direct: directChallenge }[operation.api] : 'absent',
    ...((status === 429 || status === 503) && { 'retry-after': /^\d+$/ }),
    ...(status >= 400 && !isHead && { 'content-type': problem.type }),
    ...answer.headers,
  };
  for (const [name, expected] of Object.entries(headers)) {
    const value = String(reply.headers[name] ?? 'absent');
    const isRight = typeof expected === 'string' ? value === expected : expected.test(value);
    expectThat(isRight, `expected ${name} ${expected}, got ${value}`);
  }
  const shared = Object.keys(reply.headers).filter((name) => name.startsWith('access-control-'));
  expectThat(shared.length === 0, `a page of another origin may read it: ${shared}`);
  if (isHead) expectThat(reply.text === '', 'the reply to HEAD has a body');
  const isDiscreet = status < 400 || !run.secrets.some((secret) => reply.text.includes(secret));
  expectThat(isDiscreet, 'it repeats a secret of the request');
  const atFault = problem.violations?.map(({ field }) => field).toSorted();
  if (fields) expectThat(`${atFault}` === `${fields.toSorted()}`, `expected violations of ${fields}, got ${atFault}`);
  expectThat(answer.holds?.(reply, run) !== false, 'the reply is not the promised one');
}

interface Problem {
  /** Media type of the form of error that this is. */
  readonly type: string | RegExp;
  readonly code?: string;
  readonly requestId?: string;
  readonly violations?: readonly { readonly field: string }[];
}

/** A problem document, or the error of DRS, htsget or OAuth. */
function problemOf({ status, text }: WireReply): Problem {
  const type = 'application/problem+json';
  if (status < 400) return { type };
  try {
    const document = JSON.parse(text);
    if (document.htsget) return { ...document.htsget, type: /^application\/vnd\.ga4gh\.htsget\.v1\.\d\.\d\+json/ };
    return { ...document, type: document.status_code === status || document.error ? 'application/json' : type };
  } catch {
    return { type };
  }
}
