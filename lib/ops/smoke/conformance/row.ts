import { directChallenge, proxyChallenge } from '../../../contract/http.ts';
import { counted } from '../../../terminal/output.ts';
import { type Check, messageOf, NotApplicable, needsDirectApi } from '../check.ts';
import { expectThat } from '../expect-that.ts';
import type { ApiName, Run } from '../run.ts';
import type { Headers, WireReply, WireRequest } from '../wire.ts';

/** How a request differs from the right request of its operation. */
export interface Change {
  readonly method?: string;
  /** Below the API, without a query. */
  readonly path?: string;
  /** What the braces of the operation's path mean. */
  readonly of?: Readonly<Record<string, string>>;
  readonly query?: string;
  /** Names in small letters, besides those of the right request. An empty list removes one. */
  readonly headers?: Headers;
  readonly body?: string | Uint8Array;
}

export interface Answer {
  readonly status: number;
  /** Of the problem document. @default - what docs/api.md has for the status */
  readonly code?: string;
  /** Names in small letters. */
  readonly headers?: Readonly<Record<string, string | RegExp>>;
  /** The fields that `violations` names. */
  readonly fields?: readonly string[];
  /** The answers of all rows of an operation with the same word are the same, except for their request ids. */
  readonly alike?: string;
  /** @throws OpsError when the reply is not the promised one */
  readonly inspect?: (reply: WireReply, run: Run) => void;
}

/** @param holds whether a JSON body is the promised one. The body itself may have a secret, so no message repeats it */
export const shows = (holds: (body: ReturnType<typeof JSON.parse>, run: Run) => boolean): Answer =>
  answers(200, ({ text }, run) => holds(JSON.parse(text), run));

export const answers = (status: number, holds: (reply: WireReply, run: Run) => boolean, headers: Answer['headers'] = {}): Answer => ({
  ...{ status, headers },
  inspect: (reply, run) => expectThat(holds(reply, run), 'the reply is not the promised one'),
});

/**
 * A request, and the answer that docs/api.md promises. What makes the change for a run can send the right request of the operation,
 * and throws NotApplicable if the deployment cannot show it.
 */
export type Row = readonly [name: string, request: Change | ((run: Run, right: () => Promise<WireReply>) => Change | Promise<Change>), answer: number | Answer];

/** Who asks. The rows about credentials are the same for all operations of a caller. */
export type Caller = 'administrator' | 'researcher' | 'reader' | 'passport' | 'anyone';

/** How an operation of docs/openapi is asked for, and what it answers. */
export interface Operation {
  readonly caller: Caller;
  /** Besides the credentials. */
  readonly right?: Change | ((run: Run) => Change);
  /** To the right request. @default 200 */
  readonly answer?: number | Answer;
  /** The setting that switches it on. Without it, the answer is 404. */
  readonly setting?: 'adminPage' | 'sda' | 'ega';
  /** Other requests and their answers, besides those that are the same for many operations. */
  readonly rows?: readonly Row[];
}
export type Operations = Readonly<Record<string, Operation>>;

/** A request of one operation, and what it should be answered. */
export interface Case {
  /** As in docs/openapi: `delivery GET /files`. */
  readonly operation: string;
  readonly name: string;
  readonly request: (run: Run) => Promise<WireRequest>;
  readonly answer: Answer;
}

/** Of docs/api.md. */
const codes: Readonly<Record<number, string>> = {
  ...{ 400: 'invalid_request', 401: 'unauthenticated', 403: 'forbidden', 404: 'not_found', 412: 'precondition_failed' },
  ...{ 413: 'request_too_large', 414: 'invalid_request', 416: 'range_not_satisfiable', 429: 'throttled' },
  ...{ 431: 'invalid_request', 500: 'internal_error', 503: 'temporarily_unavailable' },
};
/** Requests that are under way at the same time. The limits of docs/api.md allow more. */
const atOnce = 6;

/** A line of the suite for these rows. It fails with each row that does not hold. */
export function caseCheck(check: Omit<Check, 'run'>, cases: readonly Case[]): Check {
  const run = async (run: Run) => {
    if (cases.every(({ operation }) => apiOf(operation) === 'direct')) needsDirectApi(run);
    const asked = cases.filter(({ operation }) => run.apis.includes(apiOf(operation)));
    const wrong: string[] = [];
    const alike = new Map<string, string>();
    let notShown = 0;
    const queue = asked.values();
    const work = async () => {
      for (const each of queue) {
        try {
          const { status, text } = await ask(each, run);
          const word = each.answer.alike;
          if (word === undefined) continue;
          const reply = `${status} ${text.replace(/"requestId":"[^"]*"/, '')}`;
          expectThat((alike.get(word) ?? reply) === reply, `it differs from the other answers that are ${word}: ${reply}`);
          alike.set(word, reply);
        } catch (error) {
          run.signal.throwIfAborted();
          if (error instanceof NotApplicable) notShown += 1;
          else wrong.push(`${each.operation}, ${each.name}: ${messageOf(error)}`);
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    expectThat(wrong.length === 0, `${wrong.length} of ${asked.length} answers are wrong. ${wrong.join('; ')}`);
    return `${counted(asked.length - notShown, 'answer')}${notShown === 0 ? '' : `, ${notShown} not shown here`}`;
  };
  return { ...check, run };
}

/** Send the request of a case. @throws OpsError with what was expected and what came */
export async function ask({ operation, request, answer }: Case, run: Run): Promise<WireReply> {
  const asked = await request(run);
  const reply = await run.send(apiOf(operation), asked);
  const { status, code = codes[status] } = answer;
  const seen = problemOf(reply);
  const wanted = status < 400 || asked.method === 'HEAD' ? `${status}` : `${status} ${code}`;
  const came = `${reply.status}${seen.code === undefined ? '' : ` ${seen.code}`}`;
  expectThat(came === wanted, `expected ${wanted}, got ${came} for ${asked.method} /${asked.path.slice(0, 100)}`);
  expectHeaders(reply, { ...ofEveryReply(operation, reply, seen, asked.method === 'HEAD'), ...answer.headers });
  const shared = Object.keys(reply.headers).filter((name) => name.startsWith('access-control-'));
  expectThat(shared.length === 0, `a page of another origin may read it: ${shared}`);
  if (asked.method === 'HEAD') expectThat(reply.text === '', 'the reply to HEAD has a body');
  if (status >= 400) expectThat(!run.secrets.some((secret) => reply.text.includes(secret)), 'it repeats a secret of the request');
  const fields = seen.violations?.map(({ field }) => field).toSorted();
  if (answer.fields) expectThat(`${fields}` === `${answer.fields.toSorted()}`, `expected violations of ${answer.fields}, got ${fields}`);
  answer.inspect?.(reply, run);
  run.onReply?.(operation, asked, reply);
  return reply;
}

/** The headers that docs/api.md has for every reply. */
function ofEveryReply(operation: string, { status, headers }: WireReply, seen: Problem, isHead: boolean): NonNullable<Answer['headers']> {
  // DRS and htsget write their own challenge, which API Gateway renames.
  const isRenamed = headers['x-amzn-remapped-www-authenticate'] !== undefined;
  const challenge = apiOf(operation) === 'delivery' ? proxyChallenge : directChallenge;
  return {
    'x-amzn-requestid': status >= 400 && !isHead ? String(seen.requestId) : /^[0-9a-f-]{20,}$/i,
    ...((status >= 400 || !operation.includes(' /.well-known/')) && { 'cache-control': 'no-store' }),
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'www-authenticate': status === 401 && !isRenamed ? challenge : 'absent',
    ...((status === 429 || status === 503) && { 'retry-after': /^\d+$/ }),
    ...(status >= 400 && !isHead && { 'content-type': seen.type }),
  };
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

function expectHeaders({ headers }: WireReply, expected: NonNullable<Answer['headers']>): void {
  for (const [name, wanted] of Object.entries(expected)) {
    const value = String(headers[name] ?? 'absent');
    expectThat(typeof wanted === 'string' ? value === wanted : wanted.test(value), `expected ${name} ${wanted}, got ${value}`);
  }
}

export function apiOf(operation: string): ApiName {
  return operation.startsWith('delivery ') ? 'delivery' : 'direct';
}
