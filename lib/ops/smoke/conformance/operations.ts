import { type Check, needsDirectApi } from '../check.ts';
import type { ApiName, Run } from '../run.ts';
import { expectThat } from '../steps.ts';
import type { WireRequest } from '../wire.ts';
import { credentialRows, credentialsOf, pageRows } from './callers.ts';
import { compatibility } from './compatibility.ts';
import { deliveryApi } from './delivery-api.ts';
import { directApi } from './direct-api.ts';
import { apiOf, type Caller, type Case, type Change, caseCheck, type Operation, type Row } from './row.ts';

const table: Readonly<Record<string, Operation>> = { ...deliveryApi, ...directApi, ...compatibility };
/** Every operation that the suite calls. */
export const operations: readonly string[] = Object.keys(table);

/** Each kind of wrong credentials is tried on these alone: API Gateway asks the same authorizer for the others. */
const wholeCredentials = new Set(['proxy POST /export/{archive_kind}', 'data-out GET /metadata/datasets']);
const needsOutbox = /^proxy (GET|HEAD) \/stream/;

/** What stands for the braces of a path. */
function pathOf(operation: string, run: Run, of: Readonly<Record<string, string>>): string {
  const [, , template = ''] = operation.split(' ');
  const { expected, requestId, listed, ids, notes, reads } = run;
  const values: Readonly<Record<string, string | undefined>> = {
    ...{ archive_kind: expected.archiveKind, requestId, file: listed[0]?.name, access_id: 'plaintext' },
    ...{ datasetId: ids.datasetId, fileId: notes.fileId, object_id: notes.fileId, name: 'notes.txt' },
    ...{ path: `${notes.path}.c4gh`, version: 'v2' },
    ...(template.includes('{part}') ? run.part : { id: reads?.fileId }),
  };
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => of[name] ?? encodeURIComponent(values[name] ?? '')).slice(1);
}

function caseOf(operation: string, { caller, right = {} }: Operation, [name, making, answer]: Row): Case {
  const [, verb = ''] = operation.split(' ');
  const requestOf = (run: Run, first: Change, { method, path, of = {}, query, headers, body }: Change): WireRequest => {
    const credentials = credentialsOf(caller, run);
    const asked = path ?? pathOf(operation, run, of);
    const parameters = query ?? first.query ?? '';
    return {
      method: method ?? verb,
      path: parameters === '' ? asked : `${asked}?${parameters}`,
      headers: { ...credentials.headers, ...first.headers, ...headers },
      body: body ?? first.body ?? credentials.body,
    };
  };
  return {
    ...{ operation, name, answer: typeof answer === 'number' ? { status: answer } : answer },
    async request(run) {
      const first = typeof right === 'function' ? right(run) : right;
      const asRight = () => run.send(apiOf(operation), requestOf(run, first, {}));
      return requestOf(run, first, typeof making === 'function' ? await making(run, asRight) : making);
    },
  };
}

/** The right request of an operation. */
export function rightCase(operation: string): Case {
  const found = table[operation];
  if (found === undefined) throw new RangeError(`${operation} is not in the table`);
  return caseOf(operation, found, ['the right request', {}, found.answer ?? 200]);
}

const remedy = 'Look for the request in the access log of the API and in the log of its function: docs/runbook.md says where they are.';
const gatewayRemedy = 'Compare the API with the template (npx cdk diff), and deploy its stage again.';

function needsOf(operation: string, caller: Caller): readonly string[] {
  if (operation.includes('{part}')) return ['ticket'];
  if (caller === 'reader' || caller === 'passport') return ['archive', 'visa'];
  return caller === 'anyone' ? ['archive'] : ['exported', ...(needsOutbox.test(operation) ? ['outbox'] : [])];
}

function operationCheck([operation, entry]: readonly [string, Operation]): Check {
  const { caller, answer = 200, setting, rows = [] } = entry;
  const api = apiOf(operation);
  const all: readonly Row[] = [
    ...credentialRows(caller, wholeCredentials.has(operation)),
    ...(operation.includes(' POST ') ? pageRows(api, answer) : []),
    ...rows,
  ];
  const right = rightCase(operation);
  const needs = needsOf(operation, caller);
  const check = caseCheck({ id: operation, title: operation, remedy, needs }, [right, ...all.map((row) => caseOf(operation, entry, row))]);
  if (setting === undefined) return check;
  const off = caseCheck({ id: operation, title: operation, remedy, needs }, [{ ...right, answer: { status: 404 } }]);
  return { ...check, run: (run) => (run.expected[setting] ? check : off).run(run) };
}

/** Of API Gateway, for every operation. A longer path cannot be asked about where an authorizer is, and a longer body is not passed on. */
const limits = Object.entries(table).flatMap(([operation, entry]) => {
  const rows: readonly Row[] = [
    ['a URL of more than 10,240 bytes', { query: `x=${'x'.repeat(10_240)}` }, 414],
    ...(operation === 'proxy GET /stream/{file}' ? [['a path of more than 1,600 bytes', { of: { file: 'x'.repeat(1600) } }, 414] as const] : []),
    ['headers of more than 10,240 bytes', { headers: { 'x-long': 'x'.repeat(10_240) } }, 431],
    ...(operation.includes(' POST ') ? [['a body of more than 10 MB', { body: Buffer.alloc(10 * 1024 * 1024 + 1, 32) }, 413] as const] : []),
  ];
  return rows.map((row) => caseOf(operation, entry, row));
});

const verbs = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];
/** Whether an operation is asked for at a path. `service-info` is also an id to htsget. */
const isAt = (operation: string, wanted: string) => new RegExp(`^${operation.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(wanted);
const otherMethods = Object.entries(table).flatMap(([operation, entry]) => {
  const [api = '', , path = ''] = operation.split(' ');
  const isFirst = operations.find((each) => each.startsWith(api) && each.endsWith(` ${path}`)) === operation;
  const lacking = verbs.filter((verb) => !operations.some((each) => isAt(each, `${api} ${verb} ${path}`)));
  return isFirst ? lacking.map((method) => caseOf(operation, entry, [method, { method, body: '' }, 404])) : [];
});

const unknownPaths: readonly (readonly [ApiName, string])[] = [
  ...['', 'nothing/here', 'metadata/datasets', 'export', 'export/', 'export/fega/x/files', 'stream', 'stream/', 'stream//x'],
  ...['stream/x/y', 'stream/../stream/x', 'files/../stream/x', 'admin/x', 'openapi.json/x'],
].map((path) => ['proxy', path] as const);
const directPaths = ['', 'nothing/here', 'metadata', 'metadata/datasets/EGAD1', 'files', 'files/x/y/z', 'ga4gh/drs/v1/objects', 'htsget', 'export/fega'];
const nowhere = [...unknownPaths, ...directPaths.map((path) => ['data-out', path] as const)].map(([api, path]) =>
  caseOf(`${api} GET /`, { caller: api === 'proxy' ? 'researcher' : 'reader' }, [`/${path}`, { path }, 404]),
);

/** Parts have addresses that only tickets name. */
const ticket: Check = {
  id: 'ticket',
  title: 'a ticket for a key names its parts',
  needs: ['archive', 'visa'],
  remedy,
  async run(run) {
    needsDirectApi(run);
    const asked = await rightCase('data-out GET /htsget/reads/{id}').request(run);
    const headers = { ...asked.headers, 'public-key': Buffer.from(run.recipient.publicKey).toString('base64') };
    const { text } = await run.send('data-out', { ...asked, path: asked.path.split('?')[0] ?? '', headers });
    const [, id, part] = /htsget\/parts\/([^/"]+)\/([^/"?]+)/.exec(text) ?? [];
    expectThat(id !== undefined && part !== undefined, `it names none: ${text.slice(0, 100)}`);
    run.part = { id: decodeURIComponent(id), part: decodeURIComponent(part) };
    return run.part.part;
  },
};

export const conformanceChecks: readonly (Check & { readonly cases?: readonly Case[] })[] = [
  ticket,
  ...Object.entries(table).map(operationCheck),
  caseCheck({ id: 'methods', title: 'a method that a path lacks is 404', needs: ['archive', 'outbox'], remedy: gatewayRemedy }, otherMethods),
  caseCheck({ id: 'unknown-routes', title: 'an unknown path is 404', needs: ['archive'], remedy: gatewayRemedy }, nowhere),
  caseCheck({ id: 'limits', title: 'URLs, headers and bodies that are too long are refused', needs: ['archive', 'outbox'], remedy: gatewayRemedy }, limits),
];
