import { namesOfReads } from '../reads.ts';
import type { Run } from '../run.ts';
import type { WireReply } from '../wire.ts';
import { type Answer, shows } from './answer.ts';
import { type Entry, each, type Row, type Table } from './row.ts';

const json = 'content-type: application/json';
const key = 'public-key: {key}';
const encrypted = '?destinationFormat=CRYPT4GH';
const sized = (size: number): Answer => ({ status: 200, headers: { 'x-file-size': `${size}` } });
const containing = (start: string): Answer => ({ status: 200, holds: ({ text }) => text.startsWith(start) });

/** Of 6,000 bytes. */
const wholeNotes: Answer = { ...sized(6000), holds: ({ bytes }, { file: { notes } }) => bytes.equals(notes.content) };
const rangeOfNotes = (range: string, start: number, end: number): Row => [
  `range: bytes=${range}`,
  {
    ...{ status: 206, headers: { 'content-range': `bytes ${start}-${end - 1}/6000` } },
    holds: ({ bytes }, { file: { notes } }) => bytes.equals(notes.content.subarray(start, end)),
  },
];

/** Of a file, with its name at the end or without. */
const file: Entry = {
  answer: {
    status: 200,
    headers: {
      'accept-ranges': 'bytes',
      'content-disposition': /^attachment; filename="notes.txt"/,
      'x-file-size': '6000',
    },
    holds: (reply, run) => reply.headers['content-length'] === '6000' && wholeNotes.holds?.(reply, run) === true,
  },
  rows: [
    rangeOfNotes('10-19', 10, 20),
    rangeOfNotes('-10', 5990, 6000),
    ['range: bytes=6000-', { status: 416, headers: { 'content-range': 'bytes */6000' } }],
    ...each(wholeNotes, 'range: bytes=0-1,4-5', 'range: lines=0-1', 'range: bytes=9-1'),
    ['range: bytes=0-1 | if-range: "other"', wholeNotes],
    ['?startCoordinate=7&endCoordinate=9', sized(2)],
    ['?startCoordinate=6000&endCoordinate=6001', 416],
    ...each(200, '?destinationFormat=Plain', '{fileId}={awkward}', `${encrypted} | client-public-key: {key}`),
    ...each(containing('crypt4gh'), `${encrypted} | ${key}`, `${encrypted} | x-c4gh-public-key: {key}`),
    [`${encrypted}&startCoordinate=7&endCoordinate=9 | ${key}`, containing('crypt4gh')],
    ...each(400, 'range: bytes=0-1 | ?startCoordinate=1&endCoordinate=2', '?startCoordinate=9&endCoordinate=7'),
    ...each(400, encrypted, key, `${encrypted} | ${key} | x-c4gh-public-key: {key}`, `${encrypted} | public-key: none`),
    [`${encrypted}&redirect=perhaps | ${key}`, 400],
    [`{fileId}={large} | {name}=genome.bam | ${encrypted} | ${key}`, 307],
    [`{fileId}={large} | {name}=genome.bam | ${encrypted}&redirect=false | ${key}`, 200],
  ],
};

const isNotes = shows(({ id, size }, { file: { notes } }) => id === notes.fileId && size === notes.decryptedSize);
const hasUrl = shows(
  ({ url, headers: [first] }, run) =>
    url.startsWith(`${run.urlOf('direct')}/files/`) && first.startsWith('Authorization: Bearer '),
);
/** The file has no reads. */
const access: Entry = { answer: hasUrl, rows: [['{access_id}=htsget', 404]] };

const region = { referenceName: 'chr1', start: 99_000, end: 101_000 };
const regions = (...list: readonly object[]) => JSON.stringify({ regions: list });
/** A ticket holds so little itself. */
const namesIn = (urls: readonly { readonly url: string }[]) =>
  namesOfReads(Buffer.concat(urls.map(({ url }) => Buffer.from(url.replace(/^data:;base64,/, ''), 'base64'))));
const hasRead = (name: string): Answer =>
  shows(({ htsget: { urls } }) => namesIn(urls).join() === name, {
    'content-type': /^application\/vnd\.ga4gh\.htsget\.v1\.3\.0\+json/,
  });
const firstRead = { right: '?referenceName=chr1&start=0&end=1000', answer: hasRead('first') };
const unsupported = '400 unsupported_format';
const fromPage: Entry = { rows: [['origin: http://localhost:1 | access-control-request-method: GET', 204]] };
const isService = (artifact: string): Entry => ({ answer: shows(({ type }) => type?.artifact === artifact) });

/** The direct API. */
export const directApi: Table = {
  'direct GET /metadata/datasets': {
    answer: shows((listed, { ids }) => listed.includes(ids.datasetId) && !listed.includes(ids.hiddenId)),
  },
  'direct GET /metadata/datasets/{datasetId}/files': {
    answer: shows(({ length }, { files }) => length === files.length),
    rows: [
      ...each('403 alike', '{datasetId}=%00', '{datasetId}=%ED%A0%80', '{datasetId}=%zz', '{datasetId}=..%2FEGAD1'),
      ['?per_page=2', shows(({ length }) => length === 2)],
      ['?per_page=2&after=EGAF404', 400],
    ],
  },
  'direct GET /files/{fileId}': file,
  'direct GET /files/{fileId}/{name}': file,
  'direct GET /files/{fileId}/header': {
    ...{ right: key, answer: containing('crypt4gh') },
    rows: each(400, 'public-key:', 'public-key: none'),
  },
  'direct GET /files/{fileId}/content': {
    answer: 307,
    rows: [['?redirect=false', 200]],
  },
  'direct HEAD /files/{fileId}/content': { answer: sized(6028) },
  'direct GET /ga4gh/drs/v1/objects/{object_id}': { answer: isNotes },
  'direct POST /ga4gh/drs/v1/objects/{object_id}': {
    answer: isNotes,
    rows: [['/ga4gh/drs/v1/objects/access | # a bulk request', 404]],
  },
  'direct OPTIONS /ga4gh/drs/v1/objects/{object_id}': { rows: [[`{object_id}=${'x'.repeat(257)}`, 404]] },
  'direct GET /ga4gh/drs/v1/objects/{object_id}/access/{access_id}': access,
  'direct POST /ga4gh/drs/v1/objects/{object_id}/access/{access_id}': access,
  'direct GET /htsget/reads/{id}': {
    ...firstRead,
    rows: [
      ...each(400, '?start=1', '?encryptionScheme=crypt4gh'),
      ['?referenceName=chr1&start=2&end=1', '400 invalid_range'],
      ...each(unsupported, '?format=CRAM', '{id}={fileId}'),
      ['?referenceName=nine', 404],
    ],
  },
  'direct POST /htsget/reads/{id}': {
    ...{ right: json, body: regions(region), answer: hasRead('second') },
    rows: [
      ['# 1,000 regions', 200, regions(...Array(1000).fill(region))],
      ['# 1,001 regions', 413, regions(...Array(1001).fill(region))],
      ['# more than 1,000,000 bytes', 413, JSON.stringify({ fields: 'x'.repeat(1_000_000) })],
      ['# half a document', 400, '{"regions"'],
      ['# an unknown reference', 404, regions({ referenceName: 'nine' })],
      ['# regions that are not a list', 400, '{"regions": 1}'],
    ],
  },
  // The file has reads, and no variants.
  'direct GET /htsget/variants/{id}': { answer: unsupported },
  'direct POST /htsget/variants/{id}': { right: json, body: regions(region), answer: unsupported },
  'direct GET /htsget/parts/{id}/{part}': {
    rows: [
      ...each(404, `{part}=${'0'.repeat(32)}.records.0_0-1_0`, '{part}=x'),
      ['range: bytes=0-1 | range: bytes=0-2', 400],
    ],
  },
  'direct OPTIONS /htsget/reads/{id}': fromPage,
  'direct OPTIONS /htsget/variants/{id}': fromPage,
  'direct OPTIONS /htsget/parts/{id}/{part}': fromPage,
  'direct GET /ga4gh/drs/v1/service-info': isService('drs'),
  'direct GET /htsget/reads/service-info': isService('htsget'),
  'direct GET /htsget/variants/service-info': isService('htsget'),
  'direct GET /service-info': isService('data-out'),
  'direct GET /openapi.json': { answer: shows(({ servers: [server] }, run) => server.url === run.urlOf('direct')) },
};

const refused = (error: string): Answer => ({
  ...{ status: 400, code: error },
  holds: ({ text }: WireReply) => JSON.parse(text).error === error,
});
const password = (value: string) => `grant_type=password&username=me&password=${value}`;
const filesOf = (count: (run: Run) => number) => shows(({ files }, run) => files.length === count(run));

/** Routes of the direct API for clients of other archives. */
export const compatibility: Table = {
  'direct GET /datasets': { answer: shows(({ datasets }, { ids }) => datasets.includes(ids.datasetId)) },
  'direct GET /datasets/{datasetId}': { answer: shows(({ files }, run) => files === run.files.length) },
  'direct GET /datasets/{datasetId}/files': {
    answer: filesOf(({ files }) => files.length),
    rows: [
      ['?filePath=reads.bam.c4gh', filesOf(() => 1)],
      ['?pathPrefix=none/', filesOf(() => 0)],
      ['?pageToken={id}', 200],
      ...each(400, '?filePath=a&pathPrefix=b', '?pageToken=EGAF404'),
    ],
  },
  'direct GET /s3/{datasetId}/{path}': {
    ...{ right: 'client-public-key: {key}', answer: containing('crypt4gh') },
    rows: [
      ['{path}=none.c4gh', 403],
      ['client-public-key:', 400],
      ['{path}=genome.bam.c4gh', 307],
    ],
  },
  'direct GET /htsget/sda/reads/{id}': firstRead,
  'direct POST /ega/token': {
    right: 'content-type: application/x-www-form-urlencoded',
    body: password('{visa}'),
    answer: shows(({ access_token }, { visa }) => access_token === visa),
    rows: [
      ['# not a visa', refused('invalid_grant'), password('a.b.c')],
      ['# a forged visa', refused('invalid_grant'), password('{forged}')],
      ['# more than a header carries', refused('invalid_grant'), password('x'.repeat(9217))],
      ['# another grant', refused('unsupported_grant_type'), 'grant_type=client_credentials&password=x'],
      ['# no password', refused('invalid_request'), 'grant_type=password'],
      ['# a form of 65,537 bytes', refused('invalid_request'), password('x'.repeat(65_537))],
      [json, refused('invalid_request'), '{}'],
    ],
  },
  'direct POST /ega/userinfo': { body: '', answer: shows(({ sub }, { ids }) => sub === ids.username) },
  'direct POST /ega/stats': { body: '{"status":"Succeeded"}' },
  'direct GET /ega/{version}/datasets': {
    answer: shows((listed, { ids }) => listed.some((each: { datasetId: string }) => each.datasetId === ids.datasetId)),
    rows: [['{version}=v1', shows((listed, { ids }) => listed.includes(ids.datasetId))]],
  },
  'direct GET /ega/{version}/datasets/{datasetId}/files': {
    answer: shows(({ length }, run) => length === run.files.length),
    rows: [['?per_page=50001', 400]],
  },
  'direct GET /ega/{version}/files/{fileId}': {
    answer: shows(({ fileId, fileSize }, { file: { notes } }) => fileId === notes.fileId && fileSize === 6016),
  },
  'direct GET /htsget/files/{id}': firstRead,
};
