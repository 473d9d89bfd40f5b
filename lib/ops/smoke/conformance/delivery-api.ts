import { formatPublicKey } from '../../../crypt4gh/index.ts';
import type { Run } from '../run.ts';
import { expectThat } from '../steps.ts';
import type { WireReply } from '../wire.ts';
import { json } from './callers.ts';
import type { Change, Operation, Row } from './row.ts';

const invalid = (...fields: readonly string[]) => ({ status: 400, fields });
export const parsed = ({ text }: WireReply) => JSON.parse(text);

/** The smallest file again, with the same key: what is staged has the same bytes. */
const order = (run: Run) => ({ id: run.files[0]?.fileId, type: 'fileId', visaToken: run.visa, userPublicKey: formatPublicKey(run.recipient.publicKey) });
const posted = (body: unknown): Change => ({ headers: json, body: JSON.stringify(body) });
const changed = (change: object) => (run: Run) => posted({ ...order(run), ...change });
const key = (point: string) => changed({ userPublicKey: Buffer.from(point, 'hex').toString('base64') });
const zeros = (bytes: number) => '00'.repeat(bytes);

/** Each is refused as one problem with the field, whatever the other fields are. */
const wrongFields: readonly Row[] = [
  ...['id', 'visaToken', 'userPublicKey'].map((field): Row => [`no ${field}`, changed({ [field]: undefined }), invalid(field)]),
  ...['id', 'type', 'visaToken', 'userPublicKey'].flatMap((field) =>
    [null, 5, {}, ['EGAD1'], ''].map((value): Row => [`the ${field} ${JSON.stringify(value)}`, changed({ [field]: value }), invalid(field)]),
  ),
  ['an id of 257 characters', changed({ id: 'x'.repeat(257) }), invalid('id')],
  ['a blank id', changed({ id: ' ' }), invalid('id')],
  ['a line break in the id', changed({ id: 'EGAD1\n' }), invalid('id')],
  ['half a character in the id', changed({ id: '\ud800' }), invalid('id')],
  ['another type', changed({ type: 'dataset' }), invalid('type')],
  ['a visa of 16,385 characters', changed({ visaToken: 'x'.repeat(16_385) }), invalid('visaToken')],
  ['an unknown field', changed({ colour: 'red' }), invalid('colour')],
  ['a field __proto__', changed({ ['__proto__']: { id: 'EGAD2' } }), invalid('__proto__')],
  ['every field wrong', posted({ type: 1, visaToken: 2, userPublicKey: 3, colour: 4 }), invalid('id', 'type', 'visaToken', 'userPublicKey', 'colour')],
  // RFC 7748 § 6.1 names the points of small order.
  ['the key zero', key(zeros(32)), invalid('userPublicKey')],
  ['the key one', key(`01${zeros(31)}`), invalid('userPublicKey')],
  ['a key of order 8', key('e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800'), invalid('userPublicKey')],
  ['a key of the size of the prime', key(`ed${'ff'.repeat(30)}7f`), invalid('userPublicKey')],
  ['a key of 31 bytes', key('07'.repeat(31)), invalid('userPublicKey')],
  ['a key of 33 bytes', key('07'.repeat(33)), invalid('userPublicKey')],
  ['words as a key', changed({ userPublicKey: 'my public key' }), invalid('userPublicKey')],
  [
    'a private key',
    changed({ userPublicKey: '-----BEGIN CRYPT4GH PRIVATE KEY-----\nYzRnaC12MQ==\n-----END CRYPT4GH PRIVATE KEY-----\n' }),
    invalid('userPublicKey'),
  ],
];

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

function expectLocation(url: string | undefined): void {
  expectThat(/X-Amz-Signature=/.test(url ?? ''), 'there is no presigned address');
}

/** The delivery API. */
export const deliveryApi: Readonly<Record<string, Operation>> = {
  'proxy POST /export/{archive_kind}': {
    caller: 'administrator',
    right: (run) => posted(order(run)),
    answer: {
      status: 200,
      inspect: (reply) => {
        const { requestId, message } = parsed(reply);
        expectThat(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(requestId) && message !== '', 'there is no request id');
      },
    },
    rows: [
      ...wrongFields,
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
  'proxy GET /export/{archive_kind}': {
    caller: 'administrator',
    answer: {
      status: 200,
      inspect: (reply, run) => {
        const { exports } = parsed(reply) as { exports: { requestId: string }[] };
        expectThat(
          exports.some(({ requestId }) => requestId === run.requestId),
          'the export is not in the list',
        );
      },
    },
    rows: [
      ['a state, a day and a page', { query: 'state=complete&since=2026-11-21&page=0' }, 200],
      ['three wrong values', { query: 'state=x&since=y&page=z' }, invalid('state', 'since', 'page')],
      ['the page 10,000', { query: 'page=10000' }, invalid('page')],
      anotherKind,
    ],
  },
  'proxy GET /export/{archive_kind}/{requestId}': {
    caller: 'administrator',
    answer: {
      status: 200,
      inspect: (reply, run) => {
        const { state, counts } = parsed(reply);
        expectThat(state === 'complete' && counts.staged === run.files.length, `the export is ${state}, ${counts.staged} staged`);
      },
    },
    rows: [
      ['what is not a UUID', { of: { requestId: 'x' } }, 400],
      ['an unknown request', { of: { requestId: '00000000-0000-4000-8000-000000000001' } }, 404],
      ['another archive kind', { of: { archive_kind: 'other' } }, 404],
    ],
  },
  'proxy GET /admin': { caller: 'administrator', setting: 'adminPage' },
  'proxy GET /files': {
    caller: 'researcher',
    right: { query: 'inbox=false&per_page=1' },
    answer: {
      status: 200,
      headers: { 'content-type': 'application/json' },
      inspect: (reply) => {
        const { files } = parsed(reply) as { files: { fileName: string }[] };
        expectThat(files.length === 1 && files[0]?.fileName.endsWith('.c4gh') === true, 'not a page of one container');
      },
    },
    rows: [
      ['receipts as well', { query: 'inbox=false&receipts=true' }, 200],
      [
        'a page after the last',
        { query: 'inbox=FALSE&page=999' },
        { status: 200, inspect: (reply) => expectThat(parsed(reply).files.length === 0, 'it has rows') },
      ],
      ['no inbox', { query: '' }, 400],
      ['the inbox', { query: 'inbox=true' }, invalid('inbox')],
      ['words as numbers', { query: 'inbox=false&page=x&per_page=y' }, invalid('page', 'per_page')],
      ['50,001 rows', { query: 'inbox=false&per_page=50001' }, invalid('per_page')],
      ['a name of 256 characters', { query: `inbox=false&after=${'x'.repeat(256)}` }, invalid('after')],
      ['other receipts', { query: 'inbox=false&receipts=x' }, invalid('receipts')],
    ],
  },
  'proxy GET /stream/{file}': {
    caller: 'researcher',
    answer: { status: 307, inspect: ({ headers }) => expectLocation(headers.location) },
    rows: [
      ...streamRows,
      [
        'redirect=false',
        { query: 'redirect=FALSE' },
        {
          status: 200,
          inspect: (reply, { listed: [file] }) => {
            expectLocation(parsed(reply).url);
            expectThat(parsed(reply).size === file?.size, 'the size is another one');
          },
        },
      ],
      ['the name in the query', ({ listed: [file] }) => ({ of: { file: 'a+b' }, query: `fileName=${file?.name}` }), 307],
      ['an empty name in the query', { query: 'fileName=' }, 307],
      ['two names in the query', ({ listed: [file] }) => ({ query: `fileName=${file?.name}&fileName=x` }), invalid('fileName')],
    ],
  },
  'proxy HEAD /stream/{file}': {
    caller: 'researcher',
    answer: { status: 200, headers: { 'accept-ranges': 'bytes', etag: /^"[^"]+"$/ }, inspect: (reply, { listed: [file] }) => expectSize(reply, file?.size) },
    rows: streamRows,
  },
  'proxy GET /.well-known/jwks.json': {
    caller: 'anyone',
    answer: { status: 200, headers: { 'cache-control': /max-age=3600/ }, inspect: (reply) => expectThat(parsed(reply).keys.length > 0, 'there is no key') },
  },
  'proxy HEAD /.well-known/jwks.json': { caller: 'anyone', answer: { status: 200, headers: { 'content-type': 'application/jwk-set+json' } } },
  'proxy GET /.well-known/data-out': {
    caller: 'anyone',
    answer: {
      status: 200,
      headers: { 'cache-control': /max-age=3600/ },
      inspect: (reply) => {
        const { name, archiveKind } = parsed(reply);
        expectThat(name === 'data-out' && /^[a-z0-9_-]+$/.test(archiveKind), 'it does not say what it is');
      },
    },
  },
  'proxy HEAD /.well-known/data-out': { caller: 'anyone', answer: { status: 200, headers: { 'content-type': 'application/json' } } },
  'proxy HEAD /openapi.json': { caller: 'anyone' },
  'proxy GET /openapi.json': { caller: 'anyone', answer: { status: 200, inspect: servesOwnUrl('proxy') } },
};

/** By the header that each reply about a file has. */
export function expectSize({ headers }: WireReply, size: number | undefined): void {
  expectThat(headers['x-file-size'] === String(size), `X-File-Size is ${headers['x-file-size']}, not ${size}`);
}

export function servesOwnUrl(api: 'proxy' | 'data-out') {
  return (reply: WireReply, run: Run) => {
    const [server] = parsed(reply).servers as { url: string }[];
    expectThat(server?.url === run.urlOf(api), `it names the server ${server?.url}`);
  };
}
