import { formatPublicKey } from '../../../crypt4gh/index.ts';
import type { ApiName, Run } from '../run.ts';
import { json } from './callers.ts';
import { answers, type Change, type Operations, type Row, shows } from './row.ts';

const invalid = (...fields: readonly string[]) => ({ status: 400, fields });

/** The smallest file again, with the same key: what is staged has the same bytes. */
const order = (run: Run) => ({ id: run.files[0]?.fileId, type: 'fileId', visaToken: run.visa, userPublicKey: formatPublicKey(run.recipient.publicKey) });
const posted = (body: unknown): Change => ({ headers: json, body: JSON.stringify(body) });
const changed = (change: object) => (run: Run) => posted({ ...order(run), ...change });
const base64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64');
const zeros = (bytes: number) => '00'.repeat(bytes);

const everywhereWrong = [undefined, null, 5, {}, ['EGAD1'], ''];
/** Each is refused as one problem with the field, whatever the other fields are. */
const wrongValues: Readonly<Record<string, readonly unknown[]>> = {
  id: [...everywhereWrong, 'x'.repeat(257), ' ', 'EGAD1\n', '\ud800'],
  type: [...everywhereWrong.slice(1), 'dataset'],
  visaToken: [...everywhereWrong, 'x'.repeat(16_385)],
  userPublicKey: [
    ...[...everywhereWrong, 'my public key', '-----BEGIN CRYPT4GH PRIVATE KEY-----\nYzRnaC12MQ==\n-----END CRYPT4GH PRIVATE KEY-----\n'],
    // RFC 7748 § 6.1 names the points of small order: zero, one, one of order 8, and the prime.
    ...[zeros(32), `01${zeros(31)}`, 'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800', `ed${'ff'.repeat(30)}7f`].map(base64),
    ...['07'.repeat(31), '07'.repeat(33)].map(base64),
  ],
  colour: ['red'],
  ['__proto__']: [{ id: 'EGAD2' }],
};
const wrongFields: readonly Row[] = Object.entries(wrongValues).flatMap(([field, list]) =>
  list.map((value): Row => [`the ${field} ${JSON.stringify(value)?.slice(0, 60)}`, changed({ [field]: value }), invalid(field)]),
);

const wrongBodies: readonly Row[] = [
  ['no body', ''],
  ['half a document', '{"id":"EGAD1"'],
  ['two documents', '{}{}'],
  ['single quotes', "{'id':'EGAD1'}"],
  ['a form', 'id=EGAD1&visaToken=x'],
  ['null', 'null'],
  ['a list', '[{}]'],
  ['a number', '1'],
  ['deep nesting', '['.repeat(60_000)],
  ['65,537 bytes', '{}'.padEnd(65_537)],
  ['almost 6 MB', '{}'.padEnd(5_900_000)],
].map(([name = '', body = '']): Row => [`a body of ${name}`, { headers: json, body }, invalid('body')]);

const anotherKind: Row = ['another archive kind', { path: 'export/other' }, 404];

/** A name that no file has, or that belongs to somebody else. */
const noFile = { status: 404, alike: 'missing' };
const wrongNames: readonly string[] = [
  ...['EGAF9-none.c4gh', '%20', '%00', '%0d%0aSet-Cookie:%20a=b', '%2e%2e%2fx', '..%5cx', 'a%2Fb', '%252e%252e%252fx'],
  ...['+', '%25', '%zz', '%c0%ae', '%ff', '%C3%A9', '*', 'x;v=1', 'a'.repeat(256), 'a'.repeat(1400)],
];

/** The answers to GET and HEAD alike. */
const streamRows: readonly Row[] = [
  ...wrongNames.map((name): Row => [`the name ${name.slice(0, 30)}`, { of: { file: name } }, noFile]),
  ...wrongNames.map((name): Row => [`?fileName=${name.slice(0, 30)}`, { query: `fileName=${name}` }, noFile]),
  ['the name in other letters', ({ listed: [file] }) => ({ of: { file: file?.name.toLowerCase() ?? '' } }), noFile],
  ['a name and a space', ({ listed: [file] }) => ({ of: { file: `${file?.name}%20` } }), noFile],
  ['a redirect that is neither true nor false', { query: 'redirect=perhaps' }, 400],
  ['an empty redirect', { query: 'redirect=' }, 400],
];

const isPresigned = (url: string | undefined) => /X-Amz-Signature=/.test(url ?? '');

/** The delivery API. */
export const deliveryApi: Operations = {
  'delivery POST /export/{archive_kind}': {
    caller: 'administrator',
    right: (run) => posted(order(run)),
    answer: shows(({ requestId, message }) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(requestId) && message !== ''),
    rows: [
      ...wrongFields,
      ['every field wrong', posted({ type: 1, visaToken: 2, userPublicKey: 3, colour: 4 }), invalid('id', 'type', 'visaToken', 'userPublicKey', 'colour')],
      ...wrongBodies,
      ['the type in capitals', changed({ type: 'FILE_ID' }), 200],
      ['exactly 65,536 bytes', (run) => ({ body: JSON.stringify(order(run)).padEnd(65_536) }), 200],
      ['a byte order mark', (run) => ({ body: `\ufeff${JSON.stringify(order(run))}` }), 200],
      ['a key of 32 bytes in base64', (run) => changed({ userPublicKey: Buffer.from(run.recipient.publicKey).toString('base64') })(run), 200],
      ['a key without line breaks', (run) => changed({ userPublicKey: order(run).userPublicKey.replaceAll('\n', '') })(run), 200],
      ['no Content-Type', { headers: { 'content-type': [] } }, 200],
      ['a Content-Type with a charset', { headers: { 'content-type': 'Application/JSON; charset=utf-8' } }, 200],
      ['the Content-Type text/plain', { headers: { 'content-type': 'text/plain' } }, invalid('Content-Type')],
      ['the Content-Type of a form', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }, invalid('Content-Type')],
      anotherKind,
    ],
  },
  'delivery GET /export/{archive_kind}': {
    caller: 'administrator',
    answer: shows((body: { exports: { requestId: string }[] }, run) => body.exports.some(({ requestId }) => requestId === run.requestId)),
    rows: [
      ['a state, a day and a page', { query: 'state=complete&since=2026-11-21&page=0' }, 200],
      ['three wrong values', { query: 'state=x&since=y&page=z' }, invalid('state', 'since', 'page')],
      ['the page 10,000', { query: 'page=10000' }, invalid('page')],
      anotherKind,
    ],
  },
  'delivery GET /export/{archive_kind}/{requestId}': {
    caller: 'administrator',
    answer: shows(({ state, counts }, { files }) => state === 'complete' && counts.staged === files.length),
    rows: [
      ['what is not a UUID', { of: { requestId: 'x' } }, 400],
      ['an unknown request', { of: { requestId: '00000000-0000-4000-8000-000000000001' } }, 404],
      ['another archive kind', { of: { archive_kind: 'other' } }, 404],
    ],
  },
  'delivery GET /admin': { caller: 'administrator', setting: 'adminPage' },
  'delivery GET /files': {
    caller: 'researcher',
    right: { query: 'inbox=false&per_page=1' },
    answer: { ...shows(({ files }) => files.length === 1 && files[0].fileName.endsWith('.c4gh')), headers: { 'content-type': 'application/json' } },
    rows: [
      ['receipts as well', { query: 'inbox=false&receipts=true' }, 200],
      ['a page after the last', { query: 'inbox=FALSE&page=999' }, shows(({ files }) => files.length === 0)],
      ['no inbox', { query: '' }, 400],
      ['the inbox', { query: 'inbox=true' }, invalid('inbox')],
      ['words as numbers', { query: 'inbox=false&page=x&per_page=y' }, invalid('page', 'per_page')],
      ['50,001 rows', { query: 'inbox=false&per_page=50001' }, invalid('per_page')],
      ['a name of 256 characters', { query: `inbox=false&after=${'x'.repeat(256)}` }, invalid('after')],
      ['other receipts', { query: 'inbox=false&receipts=x' }, invalid('receipts')],
    ],
  },
  'delivery GET /stream/{file}': {
    caller: 'researcher',
    answer: answers(307, ({ headers }) => isPresigned(headers.location)),
    rows: [
      ...streamRows,
      ['redirect=false', { query: 'redirect=FALSE' }, shows(({ url, size }, { listed: [file] }) => isPresigned(url) && size === file?.size)],
      ['the name in the query', ({ listed: [file] }) => ({ of: { file: 'a+b' }, query: `fileName=${file?.name}` }), 307],
      ['an empty name in the query', { query: 'fileName=' }, 307],
      ['two names in the query', ({ listed: [file] }) => ({ query: `fileName=${file?.name}&fileName=x` }), invalid('fileName')],
    ],
  },
  'delivery HEAD /stream/{file}': {
    caller: 'researcher',
    answer: answers(200, ({ headers }, { listed: [file] }) => headers['x-file-size'] === String(file?.size), { 'accept-ranges': 'bytes', etag: /^"[^"]+"$/ }),
    rows: streamRows,
  },
  'delivery GET /.well-known/jwks.json': {
    caller: 'anyone',
    answer: { ...shows(({ keys }) => keys.length > 0), headers: { 'cache-control': /max-age=3600/ } },
  },
  'delivery HEAD /.well-known/jwks.json': { caller: 'anyone', answer: { status: 200, headers: { 'content-type': 'application/jwk-set+json' } } },
  'delivery GET /.well-known/data-out': {
    caller: 'anyone',
    answer: { ...shows(({ name, archiveKind }) => name === 'data-out' && /^[a-z0-9_-]+$/.test(archiveKind)), headers: { 'cache-control': /max-age=3600/ } },
  },
  'delivery HEAD /.well-known/data-out': { caller: 'anyone', answer: { status: 200, headers: { 'content-type': 'application/json' } } },
  'delivery HEAD /openapi.json': { caller: 'anyone' },
  'delivery GET /openapi.json': { caller: 'anyone', answer: servesOwnUrl('delivery') },
};

export function servesOwnUrl(api: ApiName) {
  return shows(({ servers: [server] }, run) => server.url === run.urlOf(api));
}
