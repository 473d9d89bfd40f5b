import { formatPublicKey } from '../../../crypt4gh/index.ts';
import { NotApplicable } from '../check.ts';
import type { ApiName, Run } from '../run.ts';
import type { WireReply, WireRequest } from '../wire.ts';

/** Who asks. */
export type Caller = 'administrator' | 'researcher' | 'reader' | 'passport' | 'anyone';

/** An operation of docs/openapi, and its right request. */
export interface Operation {
  /** `delivery GET /files` */
  readonly id: string;
  readonly api: ApiName;
  readonly method: string;
  readonly path: string;
  readonly caller: Caller;
  /** As in a row of the table. */
  readonly right?: string;
  readonly body?: string | undefined;
}

const json = 'content-type: application/json';
/** What the right request of each caller has, besides what its operation needs. */
const credentials: Readonly<Record<Caller, readonly [request: string, body?: string]>> = {
  administrator: ['authorization: Basic base64({admin}:{adminPassword})'],
  researcher: ['authorization: Basic base64({user}:{userPassword}) | x-ga4gh-visa: {visa}'],
  reader: ['authorization: Bearer {visa}'],
  passport: [json, '{"passports":["{visa}"]}'],
  anyone: [''],
};

type Ask = () => Promise<WireReply>;
type Value = (run: Run, operation: Operation, right: Ask) => string | undefined | Promise<string>;
const hour = 3_600_000;

/** A visa of somebody else. @throws NotApplicable without a test issuer */
const signed = ({ issueVisa, ids }: Run, datasetId: string, age = 0) => {
  if (!issueVisa) throw new NotApplicable('only a test issuer signs such a visa');
  return issueVisa(`${ids.username}-other`, datasetId, new Date(Date.now() - age));
};
const needs = (value: string | undefined, otherwise: string) => {
  if (value === undefined) throw new NotApplicable(otherwise);
  return value;
};

const keyOf = ({ recipient }: Run) => Buffer.from(recipient.publicKey).toString('base64');

/** The part of each run, so that one ticket serves all rows. */
const parts = new WeakMap<Run, string>();

/** What names in braces mean: in a path, and in a row. */
const values: Readonly<Record<string, Value>> = {
  archive_kind: ({ expected }) => expected.archiveKind,
  requestId: ({ requestId }) => requestId,
  file: ({ listed }) => listed[0]?.name,
  fileInCapitals: ({ listed }) => listed[0]?.name.toUpperCase(),
  datasetId: ({ ids }) => ids.datasetId,
  hiddenDataset: ({ ids }) => ids.hiddenId,
  hidden: ({ hidden }) => hidden?.fileId,
  fileId: ({ file: { notes } }) => notes.fileId,
  object_id: ({ file: { notes } }) => notes.fileId,
  id: ({ file: { reads } }) => reads.fileId,
  empty: ({ file: { empty } }) => empty.fileId,
  large: ({ file: { large } }) => large.fileId,
  awkward: ({ file: { awkward } }) => awkward.fileId,
  name: () => 'notes.txt',
  path: ({ file: { notes } }) => `${notes.path}.c4gh`,
  access_id: () => 'plaintext',
  version: () => 'v2',
  /** Parts have addresses that only tickets name. */
  part: async (run) => {
    const known = parts.get(run);
    if (known !== undefined) return known;
    const path = `htsget/reads/${encodeURIComponent(run.file.reads.fileId)}`;
    const { text } = await run.ask('direct', path, { headers: { ...run.asReader, 'public-key': keyOf(run) } }, 200);
    const part = decodeURIComponent(/htsget\/parts\/[^/"]+\/([^/"?]+)/.exec(text)?.[1] ?? '');
    parts.set(run, part);
    return part;
  },
  key: keyOf,
  armoured: ({ recipient }) => JSON.stringify(formatPublicKey(recipient.publicKey)).slice(1, -1),
  unbroken: ({ recipient }) => formatPublicKey(recipient.publicKey).replaceAll('\n', ''),
  /** A right order of 65,536 bytes. */
  padded: ({ file: { empty }, visa, recipient }) =>
    JSON.stringify({
      id: empty.fileId,
      type: 'fileId',
      visaToken: visa,
      userPublicKey: formatPublicKey(recipient.publicKey),
    }).padEnd(65_536),
  etag: async (_run, _operation, right) => String((await right()).headers.etag),
  origin: (run, { api }) => new URL(run.urlOf(api)).origin,
  nothing: () => '',
  visa: ({ visa }) => visa,
  forged: ({ visa }) => `${visa.slice(0, -4)}AAAA`,
  expired: (run) => signed(run, run.ids.datasetId, 2 * hour),
  others: (run) => signed(run, run.ids.hiddenId),
  admin: ({ access }) => access.admin.username,
  adminInCapitals: ({ access }) => access.admin.username.toUpperCase(),
  adminPassword: ({ access }) => access.admin.password,
  user: ({ access }) => access.archiveUser.username,
  userPassword: ({ access }) => access.archiveUser.password,
  withoutRole: ({ access }) => needs(access.withoutRole?.username, 'no user lacks the role'),
  withoutRolePassword: ({ access }) => access.withoutRole?.password,
  noPassword: ({ expected }) => needs(expected.needsPassword ? '' : undefined, 'the password may be left out'),
};

/**
 * The request that a row describes, as far as it differs from the right one of its operation, in parts between ` | `:
 * `?query` instead of the right one, `&more` in addition to it, `/path`, `{name}=value` of the path, `METHOD`,
 * `name: value` of a header, `name:` for none, and `# a note`. Names in braces are values of the run, and `base64(text)` is encoded.
 * @throws NotApplicable if the run lacks a value that a part names, be it a note
 */
export async function requestOf(operation: Operation, run: Run, row: string, body?: string): Promise<WireRequest> {
  const right = () => requestOf(operation, run, '').then((request) => run.send(operation.api, request));
  const fill = async (text: string, encode: (value: string) => string = String): Promise<string> => {
    const filled = text.split(/(base64\(.*?\)|\{\w+\})/).map(async (part) => {
      const [, plain, name = ''] = /^(?:base64\((.*)\)|\{(\w+)\})$/.exec(part) ?? [];
      if (plain !== undefined) return Buffer.from(await fill(plain)).toString('base64');
      const value = values[name];
      return value ? encode((await value(run, operation, right)) ?? '') : part;
    });
    return (await Promise.all(filled)).join('');
  };
  const [ofCaller, bodyOfCaller] = credentials[operation.caller];
  let { method, path } = operation;
  let query = '';
  const headers: Record<string, readonly string[]> = {};
  for (const text of [ofCaller, operation.right ?? '', row]) {
    const own: Record<string, string[]> = {};
    for (const part of text.split(' | ')) {
      const [, name, value] = /^([\w-]+):(?: (.*))?$/s.exec(part) ?? [];
      const [, key, meaning] = /^\{(\w+)\}=(.*)$/.exec(part) ?? [];
      if (part.startsWith('?')) query = part.slice(1);
      else if (part.startsWith('&')) query = query === '' ? part.slice(1) : query + part;
      else if (part.startsWith('#')) await fill(part);
      else if (part.startsWith('/')) path = part;
      else if (/^[A-Z]+$/.test(part)) method = part;
      else if (key !== undefined) path = path.replace(`{${key}}`, meaning ?? '');
      else if (name !== undefined)
        own[name] = [...(own[name] ?? []), ...(value === undefined ? [] : [await fill(value)])];
    }
    Object.assign(headers, own);
  }
  const encoded = await fill(query === '' ? path : `${path}?${query}`, encodeURIComponent);
  const sent = body ?? operation.body ?? bodyOfCaller;
  return { method, path: encoded.slice(1), headers, body: sent === undefined ? undefined : await fill(sent) };
}
