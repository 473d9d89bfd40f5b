import type { Run } from '../run.ts';
import { hasRead, keyOf } from './direct-api.ts';
import { type Answer, answers, type Operation, type Operations, type Row, shows } from './row.ts';

const otherVersion: Row = ['another version', { of: { version: 'v3' } }, 404];
const firstRead: Operation = { caller: 'reader', right: { query: 'referenceName=chr1&start=0&end=1000' }, answer: hasRead('first') };

const form = (of: (run: Run) => Readonly<Record<string, string>>) => (run: Run) => ({
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams(of(run)).toString(),
});
const password = (value: (run: Run) => string) => form((run) => ({ grant_type: 'password', username: 'me', password: value(run) }));
const refused = (error: string): Answer => ({ ...answers(400, ({ text }) => JSON.parse(text).error === error), code: error });
const allFiles = shows(({ length }, run) => length === run.files.length);

const sda: Operations = {
  'direct GET /info': { caller: 'anyone' },
  'direct GET /datasets': { caller: 'reader', answer: shows(({ datasets }, { ids }) => datasets.includes(ids.datasetId)) },
  'direct GET /datasets/{datasetId}': { caller: 'reader', answer: shows(({ files }, run) => files === run.files.length) },
  'direct GET /datasets/{datasetId}/files': {
    caller: 'reader',
    answer: shows(({ files }, run) => files.length === run.files.length),
    rows: [
      ['a path', { query: 'filePath=reads.bam.c4gh' }, shows(({ files }) => files.length === 1)],
      ['the beginning of no path', { query: 'pathPrefix=none/' }, shows(({ files }) => files.length === 0)],
      ['a page after the last file', ({ reads }) => ({ query: `pageToken=${encodeURIComponent(reads.fileId)}` }), 200],
      ['both filters', { query: 'filePath=a&pathPrefix=b' }, 400],
      ['an unknown token', { query: 'pageToken=EGAF404' }, 400],
    ],
  },
  'direct GET /s3/{datasetId}/{path}': {
    caller: 'reader',
    right: (run) => ({ headers: { 'client-public-key': keyOf(run) } }),
    answer: answers(200, ({ text }) => text.startsWith('crypt4gh')),
    rows: [
      ['no such path', { of: { path: 'none.c4gh' } }, 403],
      ['no key', { headers: { 'client-public-key': [] } }, 400],
      ['ten bytes', { headers: { range: 'bytes=0-9' } }, 206],
      ['a large container', { of: { path: 'genome.bam.c4gh' } }, 307],
    ],
  },
  'direct GET /htsget/sda/reads/{id}': firstRead,
};

const ega: Operations = {
  'direct POST /ega/token': {
    caller: 'anyone',
    right: password(({ visa }) => visa),
    answer: shows(({ access_token }, { visa }) => access_token === visa),
    rows: [
      ['what is not a visa', password(() => 'a.b.c'), refused('invalid_grant')],
      ['a forged visa', password(({ visa }) => `${visa.slice(0, -4)}AAAA`), refused('invalid_grant')],
      ['more than a header carries', password(() => 'x'.repeat(9217)), refused('invalid_grant')],
      ['another grant', form(() => ({ grant_type: 'client_credentials', password: 'x' })), refused('unsupported_grant_type')],
      ['no password', form(() => ({ grant_type: 'password' })), refused('invalid_request')],
      ['a form of 65,537 bytes', password(() => 'x'.repeat(65_537)), refused('invalid_request')],
      ['JSON', { headers: { 'content-type': 'application/json' }, body: '{}' }, refused('invalid_request')],
    ],
  },
  'direct POST /ega/userinfo': { caller: 'reader', right: { body: '' }, answer: shows(({ sub }, { ids }) => sub === ids.username) },
  'direct POST /ega/stats': { caller: 'reader', right: { body: '{"status":"Succeeded"}' } },
  'direct GET /ega/{version}/datasets': {
    caller: 'reader',
    answer: shows((listed, { ids }) => listed.some(({ datasetId }: { datasetId: string }) => datasetId === ids.datasetId)),
    rows: [['version 1', { of: { version: 'v1' } }, shows((listed, { ids }) => listed.includes(ids.datasetId))], otherVersion],
  },
  'direct GET /ega/{version}/datasets/{datasetId}/files': {
    caller: 'reader',
    answer: allFiles,
    rows: [['50,001 rows', { query: 'per_page=50001' }, 400], otherVersion],
  },
  'direct GET /ega/{version}/files/{fileId}': {
    caller: 'reader',
    answer: shows(({ fileId, fileSize }, { notes }) => fileId === notes.fileId && fileSize === 6016),
    rows: [otherVersion],
  },
  'direct GET /htsget/files/{id}': firstRead,
};

const switched = (setting: 'sda' | 'ega', operations: Operations): Operations =>
  Object.fromEntries(Object.entries(operations).map(([name, operation]) => [name, { ...operation, setting }]));

/** Routes of the direct API for clients of other archives. */
export const compatibility: Operations = { ...switched('sda', sda), ...switched('ega', ega) };
