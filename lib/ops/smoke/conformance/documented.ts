import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { withoutReferences } from '../../../common/json-references.ts';
import type { ApiName } from '../run.ts';
import type { Answer } from './answer.ts';
import type { Caller, Operation } from './request.ts';
import { each, type Row } from './row.ts';

interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}
interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: Schema;
}
type Node = Readonly<Record<string, unknown>>;
interface Described {
  readonly parameters?: readonly Parameter[];
  readonly security?: readonly Node[];
  readonly tags: readonly string[];
  readonly responses: Node;
}
interface Document {
  readonly security: readonly Node[];
  readonly paths: Readonly<Record<string, Record<string, Described>>>;
}

/** An operation, and what docs/openapi has about it. */
export interface Documented extends Operation {
  readonly parameters: readonly Parameter[];
  readonly tags: readonly string[];
  /** Of the right request. */
  readonly status: number;
}

function callerOf(security: readonly Node[], method: string, tags: readonly string[]): Caller {
  const schemes = security.flatMap((scheme) => Object.keys(scheme));
  if (schemes.length === 0) return method === 'POST' && tags.includes('drs') ? 'passport' : 'anyone';
  if (schemes.includes('administrator')) return 'administrator';
  return schemes.includes('bearer') ? 'reader' : 'researcher';
}

function operationsOf(api: ApiName): readonly Documented[] {
  const written = parse(readFileSync(new URL(`../../../../docs/openapi/${api}.yaml`, import.meta.url), 'utf8'));
  const document = withoutReferences(written, written) as Document;
  return Object.entries(document.paths).flatMap(([path, item]) => {
    const { parameters: shared = [], ...verbs } = item as Record<string, Described> & Pick<Described, 'parameters'>;
    return Object.entries(verbs).map(([verb, { parameters = [], security = document.security, tags, responses }]) => {
      const method = verb.toUpperCase();
      return {
        ...{ id: `${api} ${method} ${path}`, api, method, path, tags, caller: callerOf(security, method, tags) },
        parameters: [...shared, ...parameters],
        status: Number(Object.keys(responses)[0]),
      };
    });
  });
}

export const documented: readonly Documented[] = [...operationsOf('delivery'), ...operationsOf('direct')];

/** Values that a parameter with this schema does not take. */
function wrongValues({ type, minimum, maximum, maxLength, ...one }: Schema): readonly string[] {
  return [
    ...(type === 'integer' ? ['x'] : []),
    ...(minimum === undefined ? [] : [`${minimum - 1}`]),
    ...(maximum === undefined ? [] : [`${maximum + 1}`]),
    ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)]),
    ...(one.enum || one.pattern ? ['perhaps'] : []),
  ];
}

/** The answer to a wrong value. A reply to HEAD names no field, and one coordinate alone lacks the other one. */
function refusalOf(method: string, name: string): string {
  if (name === 'format') return '400 unsupported_format';
  if (method === 'HEAD') return '400';
  return `400 : ${name.endsWith('Coordinate') ? 'startCoordinate endCoordinate' : name}`;
}

/** Values of a path that nothing has. */
const unknown: readonly Row[] = [
  ...each(404, '{archive_kind}=other', '{access_id}=s3', '{version}=v3', '{name}=other.txt'),
  ...each(404, '{requestId}=00000000-0000-4000-8000-000000000001'),
  ['{requestId}=x', 400],
];

/** RFC 9110 § 13 and 14, as far as the size of a file has nothing to do with it. */
const ofHeaders: Readonly<Record<string, (right: number) => readonly Row[]>> = {
  'If-None-Match': () => [['if-none-match: {etag}', 304]],
  'If-Match': (right) => [
    ['if-match: {etag}', right],
    ['if-match: "other"', 412],
  ],
  Range: () => [...each(206, 'range: bytes=0-9'), ...each(416, 'range: bytes=100000000-')],
};

/** Missing, not released and not granted are one and the same 403 of the direct API. */
function hiddenRows({ caller, path }: Operation): readonly Row[] {
  const [, name] = /\{(datasetId|fileId|object_id|id)\}/.exec(path) ?? [];
  if (name === undefined || caller === 'anyone') return [];
  const others: Row =
    caller === 'passport'
      ? ['# others', '403 alike', '{"passports":["{others}"]}']
      : ['authorization: Bearer {others}', '403 alike'];
  const values = ['EGAF404', 'x'.repeat(257), name === 'datasetId' ? '{hiddenDataset}' : '{hidden}'];
  return [...each('403 alike', ...values.map((value) => `{${name}}=${value}`)), others];
}

/** Pages of another origin that ask for what is not safe (docs/api.md, `foreign_origin`; RFC 9110 § 9.2.1). */
function pageRows({ method }: Operation, right: Answer): readonly Row[] {
  if (method !== 'POST') return [];
  const sites = ['cross-site', '{nothing}', 'same-site', 'cross-site | content-type: text/plain'];
  const origins = ['http://localhost:1', 'https://127.0.0.1'];
  const foreign = [...origins.map((each) => `origin: ${each}`), ...sites.map((each) => `sec-fetch-site: ${each}`)];
  return [...each('403 foreign_origin', ...foreign), ...each(right, 'origin: {origin}', 'sec-fetch-site: none')];
}

/** The rows that follow from the documents. @param answer to the right request, whose parameters stay */
export function documentedRows(operation: Documented, answer: Answer): readonly Row[] {
  const { method, path, right = '' } = operation;
  // OPTIONS is answered without a look at headers.
  const parameters = operation.parameters.filter((each) => method !== 'OPTIONS' || each.in !== 'header');
  const ofQuery = parameters
    .filter(({ name, in: place }) => place === 'query' && answer.status < 400 && !right.includes(`${name}=`))
    .flatMap(({ name, schema }) =>
      wrongValues(schema).map((value): Row => [`&${name}=${value}`, refusalOf(method, name)]),
    );
  return [
    ...unknown.filter(([request]) => path.includes(request.split('=')[0] ?? '')),
    ...ofQuery,
    ...parameters.flatMap(({ name }) => ofHeaders[name]?.(answer.status) ?? []),
    ...hiddenRows(operation),
    ...pageRows(operation, answer),
  ];
}
