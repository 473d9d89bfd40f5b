import { namesOfReads } from '../reads.ts';
import type { Run } from '../run.ts';
import { expectThat } from '../steps.ts';
import type { WireReply } from '../wire.ts';
import { json, passports, signed } from './callers.ts';
import { expectSize, parsed, servesOwnUrl } from './delivery-api.ts';
import type { Answer, Change, Operation, Row } from './row.ts';

const drs = 'ga4gh/drs/v1';
export const keyOf = ({ recipient }: Run) => Buffer.from(recipient.publicKey).toString('base64');
const withKey = (run: Run): Change => ({ headers: { 'public-key': keyOf(run) } });
const encrypted = (query: string) => (run: Run) => ({ ...withKey(run), query: `destinationFormat=CRYPT4GH${query}` });
const range = (value: string): Change => ({ headers: { range: value } });
const sized = (of: (run: Run) => number): Answer => ({ status: 200, inspect: (reply, run) => expectSize(reply, of(run)) });

/** Missing, not released and not granted are one and the same 403. @param name of the parameter of the path */
export function hiddenRows(name: string, idOf: (run: Run) => string | undefined, unknown = 'EGAF404'): readonly Row[] {
  const answer = { status: 403, alike: 'forbidden' };
  return [
    ['what does not exist', { of: { [name]: unknown } }, answer],
    ['an impossible id', { of: { [name]: 'x'.repeat(257) } }, answer],
    ['what is not released', (run) => ({ of: { [name]: encodeURIComponent(idOf(run) ?? '') } }), answer],
    ["another dataset's visa", async (run) => ({ headers: { authorization: `Bearer ${await signed(run, run.ids.hiddenId)}` } }), answer],
  ];
}
export const hiddenFile = (name = 'fileId') => hiddenRows(name, ({ hidden }) => hidden?.fileId);

/** RFC 9110 § 13, with the ETag of the right request. */
function conditionRows(right: number): readonly Row[] {
  const withTag = (name: string) => async (_: Run, asked: () => Promise<WireReply>) => ({ headers: { [name]: String((await asked()).headers.etag) } });
  return [
    ['If-None-Match with its ETag', withTag('if-none-match'), 304],
    ['If-Match with its ETag', withTag('if-match'), right],
    ['If-Match with another ETag', { headers: { 'if-match': '"other"' } }, 412],
  ];
}

const tenBytes = ({ notes: { content } }: Run) => content.subarray(10, 20);
const wholeNotes: Answer = { status: 200, inspect: ({ bytes }, { notes }) => expectThat(bytes.equals(notes.content), 'it is not the plaintext') };
const rangeRows: readonly Row[] = [
  [
    'ten bytes',
    range('bytes=10-19'),
    { status: 206, headers: { 'content-range': 'bytes 10-19/6000' }, inspect: ({ bytes }, run) => expectThat(bytes.equals(tenBytes(run)), 'other bytes') },
  ],
  ['the last bytes', range('bytes=-10'), { status: 206, headers: { 'content-range': 'bytes 5990-5999/6000' } }],
  ['a range past the end', range('bytes=6000-'), { status: 416, headers: { 'content-range': 'bytes */6000' } }],
  ['several ranges', range('bytes=0-1,4-5'), wholeNotes],
  ['another unit', range('lines=0-1'), wholeNotes],
  ['a malformed range', range('bytes=9-1'), wholeNotes],
  ['If-Range with another ETag', { headers: { range: 'bytes=0-1', 'if-range': '"other"' } }, wholeNotes],
  ['a range and coordinates', { ...range('bytes=0-1'), query: 'startCoordinate=1&endCoordinate=2' }, 400],
];
/** Of a file, with its name at the end or without. */
const fileRows: readonly Row[] = [
  ['coordinates', { query: 'startCoordinate=7&endCoordinate=9' }, sized(() => 2)],
  ['coordinates past the end', { query: 'startCoordinate=6000&endCoordinate=6001' }, 416],
  ['coordinates the wrong way', { query: 'startCoordinate=9&endCoordinate=7' }, 400],
  ['another format', { query: 'destinationFormat=ZIP' }, 400],
  ['plain in other letters', { query: 'destinationFormat=Plain' }, 200],
  ['a key in Client-Public-Key', (run) => ({ headers: { 'client-public-key': keyOf(run) }, query: 'destinationFormat=crypt4gh' }), 200],
  ['a container', encrypted(''), 200],
  ['a container of coordinates', encrypted('&startCoordinate=7&endCoordinate=9'), 200],
  ['a key in X-C4GH-Public-Key', (run) => ({ headers: { 'x-c4gh-public-key': keyOf(run) }, query: 'destinationFormat=crypt4gh' }), 200],
  ['a container without a key', { query: 'destinationFormat=CRYPT4GH' }, 400],
  ['a key without a container', withKey, 400],
  ['two keys', (run) => ({ ...encrypted('')(run), headers: { 'public-key': keyOf(run), 'x-c4gh-public-key': keyOf(run) } }), 400],
  ['words as a key', { headers: { 'public-key': 'none' }, query: 'destinationFormat=CRYPT4GH' }, 400],
  ['a redirect that is neither true nor false', encrypted('&redirect=perhaps'), 400],
];
const largeRows = (more: (run: Run) => Readonly<Record<string, string>>): readonly Row[] =>
  [['', 307] as const, ['&redirect=false', 200] as const].map(
    ([query, status]): Row => [
      `a large container ${query}`,
      (run) => ({ ...encrypted(query)(run), of: { fileId: encodeURIComponent(run.large.fileId), ...more(run) } }),
      status,
    ],
  );

const contentRows: readonly Row[] = [...hiddenFile(), ['a redirect that is neither true nor false', { query: 'redirect=perhaps' }, 400]];
const headerRows: readonly Row[] = [
  ...hiddenFile(),
  ['no key', { headers: { 'public-key': [] } }, 400],
  ['words as a key', { headers: { 'public-key': 'none' } }, 400],
];

/** GET and HEAD of a file. @param path of its operation */
function fileOperations(path: string, named: readonly Row[]): Readonly<Record<string, Operation>> {
  const described = sized(({ notes }) => notes.decryptedSize);
  const [get, head] = [`data-out GET ${path}`, `data-out HEAD ${path}`];
  const large = largeRows((run) => ({ name: run.large.path }));
  const awkward: Row = ['an id that needs encoding', ({ awkward: { fileId } }) => ({ of: { fileId: encodeURIComponent(fileId) } }), 200];
  return {
    [get]: {
      caller: 'reader',
      answer: { ...wholeNotes, headers: { 'content-length': '6000', 'accept-ranges': 'bytes', 'content-disposition': /^attachment; filename="notes.txt"/ } },
      rows: [...fileRows, ...rangeRows, ...large, ...named, awkward, ...hiddenFile(), ...conditionRows(200)],
    },
    [head]: { caller: 'reader', answer: described, rows: [...fileRows, ...named, awkward, ...hiddenFile(), ...conditionRows(200)] },
  };
}

const isNotes: Answer = {
  status: 200,
  inspect: (reply, { notes }) => {
    const { id, size } = parsed(reply);
    expectThat(id === notes.fileId && size === notes.decryptedSize, 'id or size is another one');
  },
};
/** The errors of DRS to a caller of either way. */
const otherPassport: Row = ["another dataset's visa", async (run) => passports(await signed(run, run.ids.hiddenId)), { status: 403, alike: 'forbidden' }];
const unknownAccess: readonly Row[] = [
  ['an unknown access id', { of: { access_id: 's3' } }, 404],
  ['tickets of a file that is not of reads', { of: { access_id: 'htsget' } }, 404],
];

const regions = (...list: readonly object[]): Change => ({ headers: json, body: JSON.stringify({ regions: list }) });
const region = { referenceName: 'chr1', start: 99_000, end: 101_000 };
export const hasRead = (name: string): Answer => ({
  status: 200,
  headers: { 'content-type': /^application\/vnd\.ga4gh\.htsget\.v1\.3\.0\+json/ },
  // A ticket holds so little itself.
  inspect: (reply) => {
    const { urls } = parsed(reply).htsget as { urls: { url: string }[] };
    const pieces = urls.map(({ url }) => Buffer.from(url.replace(/^data:;base64,/, ''), 'base64'));
    const names = namesOfReads(Buffer.concat(pieces)).join();
    expectThat(names === name, `the reads are ${names}, expected ${name}`);
  },
});
const unsupported = { status: 400, code: 'unsupported_format' };
/** The file has reads, and no variants. */
const ticketRows: readonly Row[] = [
  ['another class', { query: 'class=body' }, 400],
  ['a start without a reference', { query: 'start=1' }, 400],
  ['an end before the start', { query: 'referenceName=chr1&start=2&end=1' }, { status: 400, code: 'invalid_range' }],
  ['another format', { query: 'format=CRAM' }, unsupported],
  ['an encryption without a key', { query: 'encryptionScheme=crypt4gh' }, 400],
  ['an unknown encryption', { query: 'encryptionScheme=rot13' }, 400],
  ['an unknown reference', { query: 'referenceName=nine' }, 404],
  ['a file that is not of reads', ({ notes }) => ({ of: { id: encodeURIComponent(notes.fileId) } }), unsupported],
];
const bodyRows: readonly Row[] = [
  ['1,000 regions', regions(...Array(1000).fill(region)), 200],
  ['1,001 regions', regions(...Array(1001).fill(region)), 413],
  ['more than 1,000,000 bytes', { body: JSON.stringify({ fields: 'x'.repeat(1_000_000) }) }, 413],
  ['half a document', { body: '{"regions"' }, 400],
  ['an unknown reference', regions({ referenceName: 'nine' }), 404],
  ['regions that are not a list', { body: '{"regions": 1}' }, 400],
];
const preflight = (name: string, headers: Readonly<Record<string, string>>): Row => [name, { headers }, 204];
const foreignPage = preflight('a page of another origin', { origin: 'http://localhost:1', 'access-control-request-method': 'GET' });

/** A part as a ticket names it, of a version that no file has. */
const noPart = `${'0'.repeat(32)}.records.0_0-1_0`;
const partRows: readonly Row[] = [
  ['a part of another version', { of: { part: noPart } }, 404],
  ['what is not a part', { of: { part: 'x' } }, 404],
];

/** The direct API. */
export const directApi: Readonly<Record<string, Operation>> = {
  'data-out GET /metadata/datasets': {
    caller: 'reader',
    answer: {
      status: 200,
      inspect: (reply, { ids }) => expectThat(parsed(reply).includes(ids.datasetId) && !parsed(reply).includes(ids.hiddenId), `it lists ${parsed(reply)}`),
    },
  },
  'data-out GET /metadata/datasets/{datasetId}/files': {
    caller: 'reader',
    answer: { status: 200, inspect: (reply, { files }) => expectThat(parsed(reply).length === files.length, `it has ${parsed(reply).length} files`) },
    rows: [
      ...hiddenRows('datasetId', ({ ids }) => ids.hiddenId, 'EGAD404'),
      ...['%00', '%ED%A0%80', '%zz', '..%2FEGAD1'].map((id): Row => [`the id ${id}`, { of: { datasetId: id } }, { status: 403, alike: 'forbidden' }]),
      ['a page of two', { query: 'per_page=2' }, { status: 200, inspect: (reply) => expectThat(parsed(reply).length === 2, 'not two rows') }],
      ['a page after an unknown file', { query: 'per_page=2&after=EGAF404' }, 400],
      ['words as a number', { query: 'per_page=x' }, 400],
      ['50,001 rows', { query: 'per_page=50001' }, 400],
    ],
  },
  ...fileOperations('/files/{fileId}', []),
  ...fileOperations('/files/{fileId}/{name}', [['another name', { of: { name: 'other.txt' } }, 404]]),
  'data-out GET /files/{fileId}/header': {
    caller: 'reader',
    right: withKey,
    answer: { status: 200, inspect: ({ text }) => expectThat(text.startsWith('crypt4gh'), 'it is not a Crypt4GH header') },
    rows: [...headerRows, ['16 bytes', range('bytes=0-15'), 206], ['a range past the end', range('bytes=100000-'), 416], ...conditionRows(200)],
  },
  'data-out HEAD /files/{fileId}/header': { caller: 'reader', right: withKey, rows: [...headerRows, ...conditionRows(200)] },
  'data-out GET /files/{fileId}/content': {
    caller: 'reader',
    answer: 307,
    rows: [...contentRows, ['redirect=false', { query: 'redirect=false' }, 200], ...conditionRows(307)],
  },
  'data-out HEAD /files/{fileId}/content': {
    caller: 'reader',
    answer: sized(({ notes }) => notes.archivedSize),
    rows: [...contentRows, ...conditionRows(200)],
  },
  [`data-out GET /${drs}/objects/{object_id}`]: { caller: 'reader', answer: isNotes, rows: hiddenFile('object_id') },
  [`data-out POST /${drs}/objects/{object_id}`]: {
    caller: 'passport',
    answer: isNotes,
    rows: [...hiddenFile('object_id').slice(0, 3), otherPassport, ['a bulk request', { path: `${drs}/objects/access` }, 404]],
  },
  [`data-out GET /${drs}/objects/{object_id}/access/{access_id}`]: { caller: 'reader', answer: hasUrl(), rows: [...hiddenFile('object_id'), ...unknownAccess] },
  [`data-out POST /${drs}/objects/{object_id}/access/{access_id}`]: {
    caller: 'passport',
    answer: hasUrl(),
    rows: [...hiddenFile('object_id').slice(0, 3), otherPassport, ...unknownAccess],
  },
  [`data-out HEAD /${drs}/objects/{object_id}`]: { caller: 'reader', rows: hiddenFile('object_id') },
  [`data-out HEAD /${drs}/objects/{object_id}/access/{access_id}`]: { caller: 'reader', rows: [...hiddenFile('object_id'), ...unknownAccess] },
  [`data-out HEAD /${drs}/service-info`]: { caller: 'anyone' },
  [`data-out OPTIONS /${drs}/objects/{object_id}`]: { caller: 'anyone', rows: [['an impossible id', { of: { object_id: 'x'.repeat(257) } }, 404]] },
  [`data-out GET /${drs}/service-info`]: { caller: 'anyone', answer: isService('drs') },
  'data-out GET /htsget/reads/{id}': {
    caller: 'reader',
    right: { query: 'referenceName=chr1&start=0&end=1000' },
    answer: hasRead('first'),
    rows: [...ticketRows, ...hiddenFile('id')],
  },
  'data-out POST /htsget/reads/{id}': { caller: 'reader', right: regions(region), answer: hasRead('second'), rows: [...bodyRows, ...hiddenFile('id')] },
  'data-out GET /htsget/variants/{id}': { caller: 'reader', answer: unsupported, rows: hiddenFile('id') },
  'data-out POST /htsget/variants/{id}': { caller: 'reader', right: regions(region), answer: unsupported, rows: hiddenFile('id') },
  'data-out GET /htsget/parts/{id}/{part}': {
    caller: 'reader',
    rows: [
      ...partRows,
      ...hiddenFile('id'),
      ['ten bytes', range('bytes=0-9'), 206],
      ['a range past the end', range('bytes=100000000-'), 416],
      ['two ranges', { headers: { range: ['bytes=0-1', 'bytes=0-2'] } }, 400],
      ...conditionRows(200),
    ],
  },
  'data-out HEAD /htsget/parts/{id}/{part}': { caller: 'reader', rows: [...partRows, ...hiddenFile('id'), ...conditionRows(200)] },
  'data-out OPTIONS /htsget/reads/{id}': { caller: 'anyone', answer: 204, rows: [foreignPage] },
  'data-out OPTIONS /htsget/variants/{id}': { caller: 'anyone', answer: 204, rows: [foreignPage] },
  'data-out OPTIONS /htsget/parts/{id}/{part}': { caller: 'anyone', answer: 204, rows: [foreignPage] },
  'data-out GET /htsget/reads/service-info': { caller: 'anyone', answer: isService('htsget') },
  'data-out GET /htsget/variants/service-info': { caller: 'anyone', answer: isService('htsget') },
  'data-out HEAD /htsget/reads/service-info': { caller: 'anyone' },
  'data-out HEAD /htsget/variants/service-info': { caller: 'anyone' },
  'data-out HEAD /service-info': { caller: 'anyone' },
  'data-out HEAD /openapi.json': { caller: 'anyone' },
  'data-out GET /service-info': { caller: 'anyone', answer: isService('data-out') },
  'data-out GET /openapi.json': { caller: 'anyone', answer: { status: 200, inspect: servesOwnUrl('data-out') } },
};

function hasUrl(): Answer {
  return {
    status: 200,
    inspect: (reply, run) => {
      const { url, headers } = parsed(reply) as { url: string; headers: string[] };
      expectThat(url.startsWith(`${run.urlOf('data-out')}/files/`) && /^Authorization: Bearer /.test(headers[0] ?? ''), `the address is ${url}`);
    },
  };
}

function isService(artifact: string): Answer {
  return { status: 200, inspect: (reply) => expectThat(parsed(reply).type?.artifact === artifact, `it describes ${parsed(reply).type?.artifact}`) };
}
