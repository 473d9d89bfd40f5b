import type { Run } from '../run.ts';
import { expectThat } from '../steps.ts';
import { parsed } from './delivery-api.ts';
import { hasRead, hiddenFile, hiddenRows, keyOf } from './direct-api.ts';
import type { Answer, Change, Operation, Row } from './row.ts';

const hiddenDataset = hiddenRows('datasetId', ({ ids }) => ids.hiddenId, 'EGAD404');
const otherVersion: Row = ['another version', { of: { version: 'v3' } }, 404];
const firstRead = { query: 'referenceName=chr1&start=0&end=1000' };

const form = (of: (run: Run) => Readonly<Record<string, string>>) => (run: Run) => ({
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams(of(run)).toString(),
});
const password = (value: (run: Run) => string) => form((run) => ({ grant_type: 'password', username: 'me', password: value(run) }));
const refused = (error: string): Answer => ({
  status: 400,
  code: error,
  inspect: (reply) => expectThat(parsed(reply).error === error, `it is ${parsed(reply).error}`),
});
const isForNotes = (size: number): Answer => ({
  status: 200,
  inspect: (reply, { notes }) => expectThat(parsed(reply).fileId === notes.fileId && parsed(reply).fileSize === size, `it is ${reply.text}`),
});

const sda: Readonly<Record<string, Operation>> = {
  'data-out GET /info': { caller: 'anyone' },
  'data-out GET /datasets': {
    caller: 'reader',
    answer: { status: 200, inspect: (reply, { ids }) => expectThat(parsed(reply).datasets.includes(ids.datasetId), 'the dataset is not in it') },
  },
  'data-out GET /datasets/{datasetId}': {
    caller: 'reader',
    answer: { status: 200, inspect: (reply, { files }) => expectThat(parsed(reply).files === files.length, `it has ${parsed(reply).files} files`) },
    rows: hiddenDataset,
  },
  'data-out GET /datasets/{datasetId}/files': {
    caller: 'reader',
    answer: { status: 200, inspect: (reply, { files }) => expectThat(parsed(reply).files.length === files.length, 'it has not all files') },
    rows: [
      ...hiddenDataset,
      ['a path', { query: 'filePath=reads.bam.c4gh' }, { status: 200, inspect: (reply) => expectThat(parsed(reply).files.length === 1, 'not one file') }],
      [
        'the beginning of no path',
        { query: 'pathPrefix=none/' },
        { status: 200, inspect: (reply) => expectThat(parsed(reply).files.length === 0, 'it has rows') },
      ],
      ['a page after the last file', ({ reads }) => ({ query: `pageToken=${encodeURIComponent(reads.fileId)}` }), 200],
      ['both filters', { query: 'filePath=a&pathPrefix=b' }, 400],
      ['an unknown token', { query: 'pageToken=EGAF404' }, 400],
    ],
  },
  'data-out GET /s3/{datasetId}/{path}': {
    caller: 'reader',
    right: (run): Change => ({ headers: { 'client-public-key': keyOf(run) } }),
    answer: { status: 200, inspect: ({ text }) => expectThat(text.startsWith('crypt4gh'), 'it is not a container') },
    rows: [
      ...hiddenDataset,
      ['what does not exist', { of: { path: 'none.c4gh' } }, 403],
      ['no key', { headers: { 'client-public-key': [] } }, 400],
      ['ten bytes', { headers: { range: 'bytes=0-9' } }, 206],
      ['a large container', { of: { path: 'genome.bam.c4gh' } }, 307],
    ],
  },
  'data-out GET /htsget/sda/reads/{id}': { caller: 'reader', right: firstRead, answer: hasRead('first'), rows: hiddenFile('id') },
};

const ega: Readonly<Record<string, Operation>> = {
  'data-out POST /ega/token': {
    caller: 'anyone',
    right: password(({ visa }) => visa),
    answer: { status: 200, inspect: (reply, { visa }) => expectThat(parsed(reply).access_token === visa, 'it is another token') },
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
  'data-out POST /ega/userinfo': {
    caller: 'reader',
    right: { body: '' },
    answer: { status: 200, inspect: (reply, { ids }) => expectThat(parsed(reply).sub === ids.username, `it is ${parsed(reply).sub}`) },
  },
  'data-out POST /ega/stats': { caller: 'reader', right: { body: '{"status":"Succeeded"}' } },
  'data-out GET /ega/{version}/datasets': {
    caller: 'reader',
    answer: {
      status: 200,
      inspect: (reply, { ids }) =>
        expectThat(
          parsed(reply).some((each: { datasetId: string }) => each.datasetId === ids.datasetId),
          'the dataset is not in it',
        ),
    },
    rows: [
      ['version 1', { of: { version: 'v1' } }, { status: 200, inspect: (reply, { ids }) => expectThat(parsed(reply).includes(ids.datasetId), 'no id') }],
      otherVersion,
    ],
  },
  'data-out GET /ega/{version}/datasets/{datasetId}/files': {
    caller: 'reader',
    answer: { status: 200, inspect: (reply, { files }) => expectThat(parsed(reply).length === files.length, 'it has not all files') },
    rows: [...hiddenDataset, ['50,001 rows', { query: 'per_page=50001' }, 400], otherVersion],
  },
  'data-out GET /ega/{version}/files/{fileId}': { caller: 'reader', answer: isForNotes(6016), rows: [...hiddenFile(), otherVersion] },
  'data-out GET /htsget/files/{id}': { caller: 'reader', right: firstRead, answer: hasRead('first'), rows: hiddenFile('id') },
};

/** Routes of the direct API for clients of other archives. */
export const compatibility: Readonly<Record<string, Operation>> = Object.fromEntries(
  Object.entries({ sda, ega }).flatMap(([setting, operations]) =>
    Object.entries(operations).map(([name, operation]) => [name, { ...operation, setting: setting as 'sda' | 'ega' }]),
  ),
);
