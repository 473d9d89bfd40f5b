import { namesOfReads } from '../reads.ts';
import type { Run } from '../run.ts';
import type { WireReply } from '../wire.ts';
import { json } from './callers.ts';
import { servesOwnUrl } from './delivery-api.ts';
import { type Answer, answers, type Change, type Operation, type Operations, type Row, shows } from './row.ts';

const drs = 'ga4gh/drs/v1';
export const keyOf = ({ recipient }: Run) => Buffer.from(recipient.publicKey).toString('base64');
const withKey = (run: Run): Change => ({ headers: { 'public-key': keyOf(run) } });
const encrypted = (query: string) => (run: Run) => ({ ...withKey(run), query: `destinationFormat=CRYPT4GH${query}` });
const range = (value: string): Change => ({ headers: { range: value } });
const sized = (of: (run: Run) => number) => answers(200, ({ headers }, run) => headers['x-file-size'] === String(of(run)));

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
const wholeNotes = answers(200, ({ bytes }, { notes }) => bytes.equals(notes.content));
const rangeRows: readonly Row[] = [
  ['ten bytes', range('bytes=10-19'), answers(206, ({ bytes }, run) => bytes.equals(tenBytes(run)), { 'content-range': 'bytes 10-19/6000' })],
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

/** GET of the direct API, and HEAD, which is answered 200 with the same rows. */
const both = (path: string, get: Operation, head: Partial<Operation> = {}): Operations => ({
  [`direct GET ${path}`]: get,
  [`direct HEAD ${path}`]: { ...get, answer: 200, ...head },
});

/** @param named rows about the name at the end of the path */
function fileOperations(path: string, named: readonly Row[]): Operations {
  const awkward: Row = ['an id that needs encoding', ({ awkward: { fileId } }) => ({ of: { fileId: encodeURIComponent(fileId) } }), 200];
  const rows = [...fileRows, ...named, awkward, ...conditionRows(200)];
  const headers = { 'content-length': '6000', 'accept-ranges': 'bytes', 'content-disposition': /^attachment; filename="notes.txt"/ };
  return both(
    path,
    { caller: 'reader', answer: { ...wholeNotes, headers }, rows: [...rows, ...rangeRows, ...largeRows((run) => ({ name: run.large.path }))] },
    { answer: sized(({ notes }) => notes.decryptedSize), rows },
  );
}

const perhaps: Row = ['a redirect that is neither true nor false', { query: 'redirect=perhaps' }, 400];
const headerRows: readonly Row[] = [
  ['no key', { headers: { 'public-key': [] } }, 400],
  ['words as a key', { headers: { 'public-key': 'none' } }, 400],
  ...conditionRows(200),
];
const headerRanges: readonly Row[] = [
  ['16 bytes', range('bytes=0-15'), 206],
  ['a range past the end', range('bytes=100000-'), 416],
];

const isNotes = shows(({ id, size }, { notes }) => id === notes.fileId && size === notes.decryptedSize);
const hasUrl = shows(({ url, headers }, run) => url.startsWith(`${run.urlOf('direct')}/files/`) && /^Authorization: Bearer /.test(headers[0]));
const unknownAccess: readonly Row[] = [
  ['an unknown access id', { of: { access_id: 's3' } }, 404],
  ['tickets of a file that is not of reads', { of: { access_id: 'htsget' } }, 404],
];

const regions = (...list: readonly object[]): Change => ({ headers: json, body: JSON.stringify({ regions: list }) });
const region = { referenceName: 'chr1', start: 99_000, end: 101_000 };
export const hasRead = (name: string): Answer => {
  // A ticket holds so little itself.
  const namesIn = (urls: readonly { url: string }[]) =>
    namesOfReads(Buffer.concat(urls.map(({ url }) => Buffer.from(url.replace(/^data:;base64,/, ''), 'base64'))));
  return { ...shows(({ htsget }) => namesIn(htsget.urls).join() === name), headers: { 'content-type': /^application\/vnd\.ga4gh\.htsget\.v1\.3\.0\+json/ } };
};
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
const fromPage: Row = ['a page of another origin', { headers: { origin: 'http://localhost:1', 'access-control-request-method': 'GET' } }, 204];

/** A part as a ticket names it, of a version that no file has. */
const noPart = `${'0'.repeat(32)}.records.0_0-1_0`;
const partRows: readonly Row[] = [
  ['a part of another version', { of: { part: noPart } }, 404],
  ['what is not a part', { of: { part: 'x' } }, 404],
  ...conditionRows(200),
];
const partRanges: readonly Row[] = [
  ['ten bytes', range('bytes=0-9'), 206],
  ['a range past the end', range('bytes=100000000-'), 416],
  ['two ranges', { headers: { range: ['bytes=0-1', 'bytes=0-2'] } }, 400],
];

/** The direct API. */
export const directApi: Operations = {
  'direct GET /metadata/datasets': { caller: 'reader', answer: shows((listed, { ids }) => listed.includes(ids.datasetId) && !listed.includes(ids.hiddenId)) },
  'direct GET /metadata/datasets/{datasetId}/files': {
    caller: 'reader',
    answer: shows(({ length }, { files }) => length === files.length),
    rows: [
      ...['%00', '%ED%A0%80', '%zz', '..%2FEGAD1'].map((id): Row => [`the id ${id}`, { of: { datasetId: id } }, { status: 403, alike: 'forbidden' }]),
      ['a page of two', { query: 'per_page=2' }, shows(({ length }) => length === 2)],
      ['a page after an unknown file', { query: 'per_page=2&after=EGAF404' }, 400],
      ['words as a number', { query: 'per_page=x' }, 400],
      ['50,001 rows', { query: 'per_page=50001' }, 400],
    ],
  },
  ...fileOperations('/files/{fileId}', []),
  ...fileOperations('/files/{fileId}/{name}', [['another name', { of: { name: 'other.txt' } }, 404]]),
  ...both(
    '/files/{fileId}/header',
    { caller: 'reader', right: withKey, answer: answers(200, ({ text }) => text.startsWith('crypt4gh')), rows: [...headerRows, ...headerRanges] },
    { rows: headerRows },
  ),
  ...both(
    '/files/{fileId}/content',
    { caller: 'reader', answer: 307, rows: [perhaps, ['redirect=false', { query: 'redirect=false' }, 200], ...conditionRows(307)] },
    { answer: sized(({ notes }) => notes.archivedSize), rows: [perhaps, ...conditionRows(200)] },
  ),
  ...both(`/${drs}/objects/{object_id}`, { caller: 'reader', answer: isNotes }),
  [`direct POST /${drs}/objects/{object_id}`]: { caller: 'passport', answer: isNotes, rows: [['a bulk request', { path: `${drs}/objects/access` }, 404]] },
  [`direct OPTIONS /${drs}/objects/{object_id}`]: { caller: 'anyone', rows: [['an impossible id', { of: { object_id: 'x'.repeat(257) } }, 404]] },
  ...both(`/${drs}/objects/{object_id}/access/{access_id}`, { caller: 'reader', answer: hasUrl, rows: unknownAccess }),
  [`direct POST /${drs}/objects/{object_id}/access/{access_id}`]: { caller: 'passport', answer: hasUrl, rows: unknownAccess },
  'direct GET /htsget/reads/{id}': { caller: 'reader', right: { query: 'referenceName=chr1&start=0&end=1000' }, answer: hasRead('first'), rows: ticketRows },
  'direct POST /htsget/reads/{id}': { caller: 'reader', right: regions(region), answer: hasRead('second'), rows: bodyRows },
  'direct GET /htsget/variants/{id}': { caller: 'reader', answer: unsupported },
  'direct POST /htsget/variants/{id}': { caller: 'reader', right: regions(region), answer: unsupported },
  ...both('/htsget/parts/{id}/{part}', { caller: 'reader', rows: [...partRows, ...partRanges] }, { rows: partRows }),
  'direct OPTIONS /htsget/reads/{id}': { caller: 'anyone', answer: 204, rows: [fromPage] },
  'direct OPTIONS /htsget/variants/{id}': { caller: 'anyone', answer: 204, rows: [fromPage] },
  'direct OPTIONS /htsget/parts/{id}/{part}': { caller: 'anyone', answer: 204, rows: [fromPage] },
  ...both(`/${drs}/service-info`, isService('drs')),
  ...both('/htsget/reads/service-info', isService('htsget')),
  ...both('/htsget/variants/service-info', isService('htsget')),
  ...both('/service-info', isService('data-out')),
  ...both('/openapi.json', { caller: 'anyone', answer: servesOwnUrl('direct') }),
};

function isService(artifact: string): Operation {
  return { caller: 'anyone', answer: shows(({ type }) => type?.artifact === artifact) };
}
