import { type Check, needsDirectApi } from '../check.ts';
import { expectThat } from '../expect-that.ts';
import type { Run } from '../run.ts';
import type { WireRequest } from '../wire.ts';
import { credentialRows, credentialsOf, hiddenRows, pageRows } from './callers.ts';
import { compatibility } from './compatibility.ts';
import { deliveryApi } from './delivery-api.ts';
import { directApi } from './direct-api.ts';
import { apiOf, type Case, type Change, caseCheck, type Operation, type Operations, type Row } from './row.ts';

const table: Operations = { ...deliveryApi, ...directApi, ...compatibility };
/** Every operation that the suite calls. */
export const operations: readonly string[] = Object.keys(table);

/** Each kind of wrong credentials is tried on these alone: API Gateway asks the same authorizer for the others. */
const wholeCredentials = new Set(['delivery POST /export/{archive_kind}', 'direct GET /metadata/datasets']);
const needsOutbox = /^delivery (GET|HEAD) \/stream/;

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

function needsOf(operation: string, { caller }: Operation): readonly string[] {
  if (operation.includes('{part}')) return ['ticket'];
  if (caller === 'reader' || caller === 'passport') return ['archive', 'visa'];
  return caller === 'anyone' ? ['archive'] : ['exported', ...(needsOutbox.test(operation) ? ['outbox'] : [])];
}

function operationCheck([operation, entry]: readonly [string, Operation]): Check {
  const { caller, answer = 200, setting, rows = [] } = entry;
  const all: readonly Row[] = [
    ...credentialRows(caller, wholeCredentials.has(operation)),
    ...(operation.includes(' POST ') ? pageRows(apiOf(operation), answer) : []),
    ...hiddenRows(operation, caller),
    ...rows,
  ];
  const right = rightCase(operation);
  const about = { id: operation, title: operation, remedy, needs: needsOf(operation, entry) };
  const check = caseCheck(about, [right, ...all.map((row) => caseOf(operation, entry, row))]);
  if (setting === undefined) return check;
  const off = caseCheck(about, [{ ...right, answer: { status: 404 } }]);
  return { ...check, run: (run) => (run.expected[setting] ? check : off).run(run) };
}

/** Of API Gateway, for every operation. A longer path cannot be asked about where an authorizer is, and a longer body is not passed on. */
const limits = Object.entries(table).flatMap(([operation, entry]) => {
  const rows: readonly (Row | false)[] = [
    ['a URL of more than 10,240 bytes', { query: `x=${'x'.repeat(10_240)}` }, 414],
    ['headers of more than 10,240 bytes', { headers: { 'x-long': 'x'.repeat(10_240) } }, 431],
    operation === 'delivery GET /stream/{file}' && ['a path of more than 1,600 bytes', { of: { file: 'x'.repeat(1600) } }, 414],
    operation.includes(' POST ') && ['a body of more than 10 MB', { body: Buffer.alloc(10 * 1024 * 1024 + 1, 32) }, 413],
  ];
  return rows.flatMap((row) => (row ? [caseOf(operation, entry, row)] : []));
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

const unknownPaths = {
  delivery: [
    ...['', 'nothing/here', 'metadata/datasets', 'export', 'export/', 'export/fega/x/files', 'stream', 'stream/', 'stream//x'],
    ...['stream/x/y', 'stream/../stream/x', 'files/../stream/x', 'admin/x', 'openapi.json/x'],
  ],
  direct: ['', 'nothing/here', 'metadata', 'metadata/datasets/EGAD1', 'files', 'files/x/y/z', 'ga4gh/drs/v1/objects', 'htsget', 'export/fega'],
};
const nowhere = Object.entries(unknownPaths).flatMap(([api, paths]) =>
  paths.map((path) => caseOf(`${api} GET /`, { caller: api === 'delivery' ? 'researcher' : 'reader' }, [`/${path}`, { path }, 404])),
);

/** Parts have addresses that only tickets name. */
const ticket: Check = {
  id: 'ticket',
  title: 'a ticket for a key names its parts',
  needs: ['archive', 'visa'],
  remedy,
  async run(run) {
    needsDirectApi(run);
    const asked = await rightCase('direct GET /htsget/reads/{id}').request(run);
    const headers = { ...asked.headers, 'public-key': Buffer.from(run.recipient.publicKey).toString('base64') };
    const { text } = await run.send('direct', { ...asked, path: asked.path.split('?')[0] ?? '', headers });
    const [, id = '', part = ''] = /htsget\/parts\/([^/"]+)\/([^/"?]+)/.exec(text) ?? [];
    expectThat(part !== '', `it names none: ${text.slice(0, 100)}`);
    run.part = { id: decodeURIComponent(id), part: decodeURIComponent(part) };
    return run.part.part;
  },
};

const line = (id: string, title: string, needs: readonly string[], cases: readonly Case[]) => caseCheck({ id, title, needs, remedy: gatewayRemedy }, cases);

export const conformanceChecks: readonly Check[] = [
  ticket,
  ...Object.entries(table).map(operationCheck),
  line('methods', 'a method that a path lacks is 404', ['archive', 'outbox'], otherMethods),
  line('unknown-routes', 'an unknown path is 404', ['archive'], nowhere),
  line('limits', 'URLs, headers and bodies that are too long are refused', ['archive', 'outbox'], limits),
];
