import { forEachConcurrently } from '../../../common/concurrently.ts';
import { counted } from '../../../terminal/output.ts';
import { type Check, expectThat, messageOf, NotApplicable, needsDirectApi } from '../check.ts';
import type { Run } from '../run.ts';
import type { WireReply } from '../wire.ts';
import { type Answer, answerOf, expectAnswer } from './answer.ts';
import { credentialRows, wholeCredentials } from './credentials.ts';
import { deliveryApi } from './delivery-api.ts';
import { compatibility, directApi } from './direct-api.ts';
import { documented, documentedRows } from './documented.ts';
import { type Operation, requestOf } from './request.ts';
import type { Entry, Row, Table } from './row.ts';

export const table: Table = { ...deliveryApi, ...directApi, ...compatibility };

/** A request of one operation, and what it should be answered. */
export interface Case {
  readonly operation: Operation;
  readonly request: string;
  readonly body?: string | undefined;
  readonly answer: Answer;
}

/** Requests that are under way at the same time. The limits of docs/api.md allow more. */
const atOnce = 6;
const remedy =
  'Look for the request in the access log of the API and in the log of its function: docs/runbook.md says where they are.';
const gatewayRemedy = 'Compare the API with the template (npx cdk diff), and deploy it again.';

/** To HEAD, of what GET is answered. */
function withoutBody(answer: Answer): Answer {
  const { holds: _, fields: __, ...rest } = answer;
  return answer.status === 307 ? { status: 200 } : rest;
}

function entryOf(id: string): Entry & { readonly rows: readonly Row[] } {
  const own = { rows: [], ...table[id] };
  const get = id.includes(' HEAD ') ? table[id.replace(' HEAD ', ' GET ')] : undefined;
  if (!get) return own;
  const rows = (get.rows ?? [])
    .filter(([request]) => !request.includes('range:'))
    .map(([request, wanted]): Row => [request, withoutBody(answerOf(wanted))]);
  const answer = get.answer === undefined ? {} : { answer: withoutBody(answerOf(get.answer)) };
  return { ...get, ...answer, ...own, rows: [...own.rows, ...rows] };
}

/** Every operation of the documents, with its cases: the first is the right request. */
const all = documented.map((described) => {
  const { rows, right = '', body, answer } = entryOf(described.id);
  const rightAnswer = answerOf(answer ?? described.status);
  const operation = { ...described, right, body };
  const more: readonly Row[] = [
    ...(wholeCredentials[operation.id] ?? credentialRows[operation.caller]),
    ...documentedRows(operation, rightAnswer),
    ...rows,
  ];
  const caseOf = ([request, wanted, own]: Row): Case => ({ operation, request, body: own, answer: answerOf(wanted) });
  return { operation, caseOf, cases: [caseOf(['', rightAnswer]), ...more.map(caseOf)] as const };
});

export const operations: readonly string[] = documented.map(({ id }) => id);

/** The right request of an operation. */
export function rightCase(id: string): Case {
  const found = all.find(({ operation }) => operation.id === id);
  if (!found) throw new RangeError(`${id} is not documented`);
  return found.cases[0];
}

/** Send the request of a case. @throws OpsError with what was expected and what came */
export async function ask({ operation, request, body, answer }: Case, run: Run): Promise<WireReply> {
  const asked = await requestOf(operation, run, request, body);
  const reply = await run.send(operation.api, asked);
  expectAnswer(operation, asked, reply, answer, run);
  run.onReply?.(operation.id, asked, reply);
  return reply;
}

/** A line of the suite for these cases. It fails with each that does not hold. */
function caseCheck(check: Omit<Check, 'run'>, cases: readonly Case[]): Check {
  const run = async (run: Run) => {
    if (cases.every(({ operation }) => operation.api === 'direct')) needsDirectApi(run);
    const asked = cases.filter(({ operation }) => run.apis.includes(operation.api));
    const wrong: string[] = [];
    const alike = new Map<string, string>();
    let notShown = 0;
    await forEachConcurrently(asked, atOnce, async (each) => {
      try {
        const { status, text } = await ask(each, run);
        if (!each.answer.alike) return;
        const reply = `${status} ${text.replace(/"requestId":"[^"]*"/, '')}`;
        const first = alike.get(each.operation.id) ?? reply;
        alike.set(each.operation.id, first);
        expectThat(first === reply, `it differs from answers that should be alike: ${reply}`);
      } catch (error) {
        run.signal.throwIfAborted();
        if (error instanceof NotApplicable) notShown += 1;
        else wrong.push(`${each.operation.id}, ${each.request.slice(0, 100)}: ${messageOf(error)}`);
      }
    });
    expectThat(wrong.length === 0, `${wrong.length} of ${asked.length} answers are wrong. ${wrong.join('; ')}`);
    return `${counted(asked.length - notShown, 'answer')}${notShown === 0 ? '' : `, ${notShown} not shown here`}`;
  };
  return { ...check, run };
}

function needsOf({ caller, path }: Operation): readonly string[] {
  // The address of a part comes from a ticket.
  if (caller === 'reader' || caller === 'passport' || path.includes('{part}')) return ['archive', 'visa'];
  return caller === 'anyone' ? ['archive'] : ['exported', ...(path.startsWith('/stream') ? ['outbox'] : [])];
}

const operationChecks = all.map(({ operation, cases: [right, ...others] }): Check => {
  const about = { id: operation.id, title: operation.id, remedy, needs: needsOf(operation) };
  const check = caseCheck(about, [right, ...others]);
  const setting =
    operation.path === '/admin' ? 'adminPage' : (['sda', 'ega'] as const).find((tag) => operation.tags.includes(tag));
  if (setting === undefined) return check;
  const off = caseCheck(about, [{ ...right, answer: { status: 404 } }]);
  return { ...check, run: (run) => (run.expected[setting] ? check : off).run(run) };
});

/** Of API Gateway. A longer path cannot be asked about where an authorizer is, and a longer body is not passed on. */
const limits = all.flatMap(({ operation: { id, method }, caseOf }) => [
  caseOf([`&x=${'x'.repeat(10_240)}`, 414]),
  caseOf([`x-long: ${'x'.repeat(10_240)}`, 431]),
  ...(id === 'delivery GET /stream/{file}' ? [caseOf([`{file}=${'x'.repeat(1600)}`, 414])] : []),
  ...(method === 'POST' ? [caseOf(['# more than 10 MB', 413, ' '.repeat(10 * 1024 * 1024 + 1)])] : []),
]);

const verbs = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];
const otherMethods = all.flatMap(({ operation: { api, path }, caseOf }, at) => {
  if (all.findIndex(({ operation }) => operation.api === api && operation.path === path) !== at) return [];
  // `service-info` is also an id to htsget.
  const isAt = (each: Operation) => new RegExp(`^${each.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
  const known = documented.filter((each) => each.api === api && isAt(each)).map(({ method }) => method);
  return verbs.filter((verb) => !known.includes(verb)).map((verb) => caseOf([verb, 404, '']));
});

const unknownPaths = {
  delivery:
    '/ /nothing/here /metadata/datasets /export /export/ /export/fega/x/files /stream /stream/ /stream//x ' +
    '/stream/x/y /stream/../stream/x /files/../stream/x /admin/x /openapi.json/x',
  direct:
    '/ /nothing/here /metadata /metadata/datasets/EGAD1 /files /files/x/y/z /ga4gh/drs/v1/objects /htsget /export/fega',
};
const nowhere = (['delivery', 'direct'] as const).flatMap((api) => {
  const caller = api === 'delivery' ? 'researcher' : 'reader';
  const operation: Operation = { id: `${api} GET /`, api, method: 'GET', path: '/', caller };
  return unknownPaths[api].split(' ').map((request): Case => ({ operation, request, answer: { status: 404 } }));
});

const line = (id: string, title: string, needs: readonly string[], cases: readonly Case[]) =>
  caseCheck({ id, title, needs, remedy: gatewayRemedy }, cases);

export const conformanceChecks: readonly Check[] = [
  ...operationChecks,
  line('methods', 'a method that a path lacks is 404', ['archive', 'outbox'], otherMethods),
  line('unknown-routes', 'an unknown path is 404', ['archive'], nowhere),
  line('limits', 'URLs, headers and bodies that are too long are refused', ['archive', 'outbox'], limits),
];
