import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatPrivateKey, generateKeyPair } from '../../../../lib/crypt4gh/index.ts';
import { type DataFormat, endMarkers } from '../../../../lib/regions/index.ts';
import { containerOf } from '../../../helpers/client-world.ts';
import { type RunningServe, startServe } from '../../../helpers/running-serve.ts';
import { answers, digest, parsed, within } from '../../regions/answers.ts';
import { recordsOf, vector } from '../../regions/files.ts';

/** htsget beside the files of `data-out serve`, on containers of the files that htslib made. */

const keys = generateKeyPair();
let folder: string;
let served: RunningServe;
let htsget: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-htsget-'));
  await writeFile(join(folder, 'me.sec.pem'), await formatPrivateKey(keys.privateKey), { mode: 0o600 });
  const names = ['reads.bam', 'reads.bam.bai', 'spanning.bam', 'spanning.bam.bai', 'variants.bcf', 'variants.bcf.csi'];
  const files = new Map(names.map((name) => [name, vector(name)]));
  files.set('no-index.bam', vector('reads.bam'));
  files
    .set('replaced.bam', vector('spanning.bam'))
    .set('foreign.bam', vector('empty.bam'))
    .set('foreign.bam.bai', vector('reads.bam.bai'));
  files.set('text.bam', Buffer.from('no reads')).set('notes.txt', Buffer.from('text'));
  for (const [name, bytes] of files) {
    await writeFile(join(folder, `${name}.c4gh`), await containerOf(bytes, keys.publicKey));
  }
  served = await startServe(['.', '--key', 'me.sec.pem'], { folder });
  htsget = `${served.url}htsget/`;
});
afterAll(async () => {
  await served?.end();
  await rm(folder, { recursive: true, force: true });
});

interface Ticket {
  readonly htsget: { format: DataFormat; urls: { url: string; headers?: object; class: string }[] };
}
const post = (path: string, body: object | string) =>
  fetch(htsget + path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) });

/** The pieces of a ticket, as a client joins them. */
async function piecesOf(reply: Response): Promise<{ readonly format: DataFormat; readonly pieces: Buffer[] }> {
  expect([reply.status, reply.headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/^application\/vnd\.ga4gh\.htsget\.v1\.3\.0\+json/),
  ]);
  const { format, urls } = ((await reply.json()) as Ticket).htsget;
  expect(urls.map(({ class: part }) => part)).toEqual(['header', ...urls.slice(1).map(() => 'body')]);
  const pieces = urls.map(async ({ url, headers }) => {
    expect(headers).toEqual(url.startsWith('data:') ? undefined : {});
    const piece = await fetch(url);
    const bytes = Buffer.from(await piece.arrayBuffer());
    const size = piece.headers.get('content-length');
    if (!url.startsWith('data:')) expect([piece.status, size]).toEqual([200, `${bytes.length}`]);
    return bytes;
  });
  return { format, pieces: await Promise.all(pieces) };
}

const cases = ['reads.bam', 'spanning.bam', 'variants.bcf'].flatMap((name) =>
  Object.keys(answers[name] ?? {}).map((regions) => [name, regions] as const),
);

describe('a ticket', () => {
  test.each(cases)('of %s holds the records that htslib finds: %s', async (name, text) => {
    const regions = parsed(text);
    const path = `${name.endsWith('.bam') ? 'reads' : 'variants'}/folder/${name}`;
    const reply = text === 'whole' ? fetch(htsget + path) : post(path, { regions });
    const { format, pieces } = await piecesOf(await reply);
    expect(digest(within(recordsOf(format, Buffer.concat(pieces)), regions))).toEqual(answers[name]?.[text]);
  });

  test('has URLs for what is large, and holds the rest itself', async () => {
    const whole = await ticketOf('reads.bam');
    const kinds = whole.htsget.urls.map(({ url }) => url.replace(/,.*/, '').replace(/^http.*\/parts\//, ''));
    expect(kinds).toEqual([
      'data:;base64',
      expect.stringMatching(/^[0-9a-f]{32}\.records\.198_0-249442_0\/folder\/reads\.bam$/),
    ]);
    const region = await fetch(`${htsget}reads/folder/reads.bam?referenceName=one&start=0&end=1000&fields=QNAME`);
    const { urls } = ((await region.json()) as Ticket).htsget;
    expect(urls.map(({ url }) => url.slice(0, 13))).toEqual(urls.map(() => 'data:;base64,'));
  });

  test('of class=header has exactly the header and the end, even beside a reference', async () => {
    const { pieces } = await piecesOf(await fetch(`${htsget}reads/folder/reads.bam?class=header&referenceName=na`));
    expect(pieces).toEqual([vector('reads.bam').subarray(0, 198), Buffer.from(endMarkers.BAM)]);
  });
});

test.each([
  ['reads', ['BAM', 'CRAM']],
  ['variants', ['VCF', 'BCF']],
])('service-info of %s is that of GA4GH with what htsget 1.3 adds', async (datatype, formats) => {
  const reply = await fetch(`${htsget}${datatype}/service-info`);
  expect(await reply.json()).toEqual({
    id: `localhost.data-out.htsget.${datatype}`,
    name: expect.any(String),
    type: { group: 'org.ga4gh', artifact: 'htsget', version: '1.3.0' },
    organization: { name: expect.any(String), url: new URL(htsget).origin },
    version: expect.any(String),
    htsget: { datatype, formats, fieldsParametersEffective: false, tagsParametersEffective: false },
  });
});

const ticketOf = async (name: string) => (await (await fetch(`${htsget}reads/folder/${name}`)).json()) as Ticket;
const versionIn = (ticket: Ticket) =>
  ticket.htsget.urls.map(({ url }) => /\/([0-9a-f]{32})\./.exec(url)?.[1]).find((version) => version !== undefined);

describe('an error', () => {
  const region = (start: unknown, end: unknown) => ({ regions: [{ referenceName: 'one', start, end }] });

  test.each<[string, number, string]>([
    ['reads/folder/none.bam', 404, 'NotFound'],
    ['reads/folder/..%2Fme.sec.pem', 404, 'NotFound'],
    ['reads/folder/reads.bam?referenceName=four', 404, 'NotFound'],
    ['other/folder/reads.bam', 404, 'NotFound'],
    ['variants/folder/reads.bam', 400, 'UnsupportedFormat'],
    ['reads/folder/reads.bam?format=CRAM', 400, 'UnsupportedFormat'],
    ['reads/folder/notes.txt', 400, 'UnsupportedFormat'],
    ['reads/folder/text.bam', 400, 'UnsupportedFormat'],
    ['reads/folder/no-index.bam?referenceName=one', 400, 'UnsupportedFormat'],
    ['reads/folder/foreign.bam?referenceName=one', 400, 'UnsupportedFormat'],
    ['reads/folder/reads.bam?class=body', 400, 'InvalidInput'],
    ['reads/folder/reads.bam?encryptionScheme=crypt4gh', 400, 'InvalidInput'],
    ['reads/folder/reads.bam?start=1', 400, 'InvalidInput'],
    ['reads/folder/reads.bam?referenceName=one&start=x', 400, 'InvalidInput'],
    ['reads/folder/reads.bam?referenceName=one&start=-1', 400, 'InvalidInput'],
    ['reads/folder/reads.bam?referenceName=one&end=4294967296', 400, 'InvalidInput'],
    ['reads/folder/reads.bam?referenceName=*&start=1', 400, 'InvalidInput'],
    ['reads/folder/reads.bam?referenceName=one&start=2&end=1', 400, 'InvalidRange'],
    ['reads/folder/reads.bam?tags=NM&notags=NM', 400, 'InvalidInput'],
    [`reads/folder/reads.bam?referenceName=${'x'.repeat(1_025)}`, 400, 'InvalidInput'],
    ['parts/../folder/reads.bam', 404, 'NotFound'],
    ['parts/x/folder/reads.bam', 404, 'NotFound'],
  ])('of htsget answers %s', async (path, status, error) => {
    const reply = await fetch(htsget + path);
    expect([reply.status, await reply.json()]).toEqual([status, { htsget: { error, message: expect.any(String) } }]);
  });

  test.each<[string, object | string, number, string]>([
    ['no JSON', '{', 400, 'InvalidInput'],
    ['no object', '[]', 400, 'InvalidInput'],
    ['regions that are not a list', { regions: {} }, 400, 'InvalidInput'],
    ['a region of nothing', { regions: [null] }, 400, 'InvalidInput'],
    ['a position that is text', region('1', 2), 400, 'InvalidInput'],
    ['a reversed region', region(2, 1), 400, 'InvalidRange'],
    [
      '1,001 regions',
      { regions: Array.from({ length: 1_001 }, () => ({ referenceName: 'one' })) },
      413,
      'PayloadTooLarge',
    ],
    ['a megabyte', ' '.repeat(1_000_001), 413, 'PayloadTooLarge'],
  ])('of htsget answers a POST with %s', async (_, body, status, error) => {
    const reply = await post('reads/folder/reads.bam', body);
    expect([reply.status, await reply.json()]).toEqual([status, { htsget: { error, message: expect.any(String) } }]);
  });

  test.each([
    ['records.0_0-99999999_0', 404, 'NotFound'],
    [`segments.0-5.${'ab'.repeat(32)}`, 404, 'NotFound'],
    ['records.1_5-100_0', 400, 'UnsupportedFormat'],
  ])('of htsget answers a part that no ticket of this file has: %s', async (part, status, error) => {
    const version = versionIn(await ticketOf('reads.bam'));
    const reply = await fetch(`${htsget}parts/${version}.${part}/folder/reads.bam`);
    expect([reply.status, await reply.json()]).toEqual([status, { htsget: { error, message: expect.any(String) } }]);
  });

  test('of htsget tells whoever has a ticket of a file that was replaced since', async () => {
    const [, part] = (await ticketOf('replaced.bam')).htsget.urls;
    await writeFile(join(folder, 'replaced.bam.c4gh'), await containerOf(vector('reads.bam'), keys.publicKey));
    const reply = await fetch(part?.url ?? '');
    expect([reply.status, await reply.json()]).toEqual([
      404,
      { htsget: { error: 'NotFound', message: 'The file was replaced: ask for a new ticket.' } },
    ]);
  });

  test('of another method says what a ticket and a file take', async () => {
    const allowed = async (path: string) => (await fetch(served.url + path, { method: 'PUT' })).headers.get('allow');
    expect(await allowed('htsget/reads/folder/reads.bam')).toBe('GET, HEAD, OPTIONS, POST');
    expect(await allowed('htsget/parts/header/folder/reads.bam')).toBe('GET, HEAD, OPTIONS');
  });
});
