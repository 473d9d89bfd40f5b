import { type Answer, shows } from './answer.ts';
import { each, type Row, type Table } from './row.ts';

const json = 'content-type: application/json';
/** The smallest file again, with the same key: what is staged has the same bytes. */
const order = { id: '{empty}', type: 'fileId', visaToken: '{visa}', userPublicKey: '{key}' };
const changed = (change: object) => JSON.stringify({ ...order, ...change });

const base64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64');
const zeros = (bytes: number) => '00'.repeat(bytes);
const privateKey = '-----BEGIN CRYPT4GH PRIVATE KEY-----\nYzRnaC12MQ==\n-----END CRYPT4GH PRIVATE KEY-----\n';
const everywhereWrong = [undefined, null, 5, {}, ['EGAD1'], ''];
/** Each is refused as one problem with the field, whatever the other fields are. */
const wrongValues: Readonly<Record<string, readonly unknown[]>> = {
  id: [...everywhereWrong, 'x'.repeat(257), ' ', 'EGAD1\n', '\ud800'],
  type: [...everywhereWrong.slice(1), 'dataset'],
  visaToken: [...everywhereWrong, 'x'.repeat(16_385)],
  userPublicKey: [
    ...[...everywhereWrong, 'my public key', privateKey],
    // RFC 7748 § 6.1 names the points of small order: zero, one, one of order 8, and the prime.
    ...[zeros(32), `01${zeros(31)}`, 'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800'].map(base64),
    ...[`ed${'ff'.repeat(30)}7f`, '07'.repeat(31), '07'.repeat(33)].map(base64),
  ],
  colour: ['red'],
  ['__proto__']: [{ id: 'EGAD2' }],
};
const wrongFields = Object.entries(wrongValues).flatMap(([field, list]) =>
  list.map((value): Row => [`# ${field} ${JSON.stringify(value)}`, `400 : ${field}`, changed({ [field]: value })]),
);
const wrongBodies = [
  ...['', '{"id":"EGAD1"', '{}{}', "{'id':'EGAD1'}", 'id=EGAD1&visaToken=x', 'null', '[{}]', '1', '['.repeat(60_000)],
  ...['{}'.padEnd(65_537), '{}'.padEnd(5_900_000)],
].map((body): Row => [`# the body ${body.slice(0, 30).trim()} of ${body.length} bytes`, '400 : body', body]);

/** Names that no file has, or that belong to somebody else. */
const wrongNames = [
  ...['EGAF9-none.c4gh', '%20', '%00', '%0d%0aSet-Cookie:%20a=b', '%2e%2e%2fx', '..%5cx', 'a%2Fb', '%252e%252e%252fx'],
  ...['+', '%25', '%zz', '%c0%ae', '%ff', '%C3%A9', '*', 'x;v=1', 'a'.repeat(256), 'a'.repeat(1400)],
].flatMap((name) => [`{file}=${name}`, `?fileName=${name}`]);

const isPresigned = (url: string | undefined) => /X-Amz-Signature=/.test(url ?? '');
const redirected: Answer = { status: 307, holds: ({ headers }) => isPresigned(headers.location) };
const forAnHour = { 'cache-control': /max-age=3600/ };
const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The delivery API. */
export const deliveryApi: Table = {
  'delivery POST /export/{archive_kind}': {
    right: json,
    body: changed({}),
    answer: shows(({ requestId, message }) => isUuid.test(requestId) && message !== ''),
    rows: [
      ...wrongFields,
      [
        '# five fields',
        '400 : id type visaToken userPublicKey colour',
        '{"type":1,"visaToken":2,"userPublicKey":3,"colour":4}',
      ],
      ...wrongBodies,
      ['# the type in capitals', 200, changed({ type: 'FILE_ID' })],
      ['# exactly 65,536 bytes', 200, '{padded}'],
      ['# a byte order mark', 200, `\ufeff${changed({})}`],
      ['# an armoured key', 200, changed({ userPublicKey: '{armoured}' })],
      ['# a key without line breaks', 200, changed({ userPublicKey: '{unbroken}' })],
      ...each(200, 'content-type:', 'content-type: Application/JSON; charset=utf-8'),
      ...each('400 : Content-Type', 'content-type: text/plain', 'content-type: application/x-www-form-urlencoded'),
    ],
  },
  'delivery GET /export/{archive_kind}': {
    answer: shows(({ exports }, run) =>
      exports.some((each: { requestId: string }) => each.requestId === run.requestId),
    ),
    rows: [
      ['?state=complete&since=2026-11-21&page=0', 200],
      ['?state=x&since=y&page=z', '400 : state since page'],
    ],
  },
  'delivery GET /export/{archive_kind}/{requestId}': {
    answer: shows(({ state, counts }, { files }) => state === 'complete' && counts.staged === files.length),
  },
  'delivery GET /files': {
    right: '?inbox=false',
    answer: shows(({ files }) => files.length > 0, { 'content-type': 'application/json' }),
    rows: [
      ['&per_page=1', shows(({ files }) => files.length === 1 && files[0].fileName.endsWith('.c4gh'))],
      ['&receipts=true', 200],
      ['?inbox=FALSE&page=999', shows(({ files }) => files.length === 0)],
      ['?', 400],
      ['?inbox=true', '400 : inbox'],
      ['&page=x&per_page=y', '400 : page per_page'],
    ],
  },
  'delivery GET /stream/{file}': {
    answer: redirected,
    rows: [
      ...each('404 alike', ...wrongNames, '{file}={fileInCapitals}', '{file}={file}%20'),
      ['?redirect=', 400],
      ['?redirect=FALSE', shows(({ url, size }, { listed: [file] }) => isPresigned(url) && size === file?.size)],
      ...each(redirected, '{file}=a+b | ?fileName={file}', '?fileName='),
      ['?fileName={file}&fileName=x', '400 : fileName'],
    ],
  },
  'delivery HEAD /stream/{file}': {
    answer: {
      ...{ status: 200, headers: { 'accept-ranges': 'bytes', etag: /^"[^"]+"$/ } },
      holds: ({ headers }, { listed: [file] }) => headers['x-file-size'] === `${file?.size}`,
    },
  },
  'delivery GET /.well-known/jwks.json': { answer: shows(({ keys }) => keys.length > 0, forAnHour) },
  'delivery HEAD /.well-known/jwks.json': {
    answer: { status: 200, headers: { 'content-type': 'application/jwk-set+json' } },
  },
  'delivery GET /.well-known/data-out': {
    answer: shows(
      ({ name, archiveKind }, { expected }) => name === 'data-out' && archiveKind === expected.archiveKind,
      forAnHour,
    ),
  },
  'delivery HEAD /.well-known/data-out': { answer: { status: 200, headers: { 'content-type': 'application/json' } } },
  'delivery GET /openapi.json': {
    answer: shows(({ servers: [server] }, run) => server.url === run.urlOf('delivery')),
  },
};
