import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { encrypt, generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { readArchiveKeys } from '../../../lib/ops/secrets/archive-keys.ts';
import { localTarget } from '../../../lib/ops/target.ts';
import { endMarkers } from '../../../lib/regions/index.ts';
import { readPlainly } from '../../helpers/plain-crypt4gh.ts';
import type { RawReply, RawRequest } from '../../helpers/raw-http.ts';
import { answers, digest, parsed, within } from '../../helpers/region-answers.ts';
import { bai, offset, recordsOf, streamed, vector } from '../../helpers/region-files.ts';
import { Service } from '../../helpers/service.ts';

/** Tickets and their parts, as clients of htsget meet them. */

const files = ['reads.bam', 'spanning.bam', 'reads.cram', 'variants.vcf.gz', 'variants.bcf'];
const indexes = ['reads.bam.bai', 'spanning.bam.bai', 'reads.cram.crai', 'variants.vcf.gz.tbi', 'variants.bcf.csi'];
const recipient = generateKeyPair();
const key = { 'Public-Key': Buffer.from(recipient.publicKey).toString('base64') };
const json = { 'Content-Type': 'application/json' };

let service: Service;
let visa: string;
const ids: Record<string, string> = {};

interface Url {
  readonly url: string;
  readonly headers?: Record<string, string>;
  readonly class?: string;
}

beforeAll(async () => {
  service = await Service.shared();
  for (const name of [...files, ...indexes]) {
    ids[name] = (await service.archiveBytes('EGAD1', `run 1/${name}`, streamed(vector(name)))).fileId;
  }
  ids['long.bam'] = (await service.archiveBytes('EGAD1', 'long.bam', streamed(long()))).fileId;
  await service.setDataset('EGAD1', 'released');
  visa = await service.visa();
});
afterAll(() => service?.stop());
beforeEach(() => service.engine.traffic.resetCounters());

/** A BAM of 12 MB, whose blocks are stored: more than a ticket holds. */
function long(): Buffer {
  const bytes = vector('reads.bam');
  const records = bytes.subarray(0, -endMarkers.BAM.length);
  return Buffer.concat([records, ...Array.from({ length: 50 }, () => records.subarray(headerBytes)), endMarkers.BAM]);
}
/** Where the records of reads.bam begin: the size of its first block, by its header (SAMv1 § 4.1). */
const headerBytes = vector('reads.bam').readUInt16LE(16) + 1;

const kindOf = (name: string) => (/bam|cram/.test(name) ? 'reads' : 'variants');
const ticket = (name: string, query = '', init: RawRequest = {}, token = visa) =>
  service.direct(`htsget/${kindOf(name)}/${ids[name] ?? name}${query}`, token, init);
const posted = (name: string, body: unknown, headers: Record<string, string> = {}) =>
  ticket(name, '', { method: 'POST', body: JSON.stringify(body), headers: { ...json, ...headers } });
const urlsOf = (reply: RawReply): readonly Url[] => {
  expect([reply.status, reply.headers['content-type']]).toEqual([
    200,
    'application/vnd.ga4gh.htsget.v1.3.0+json; charset=utf-8',
  ]);
  return JSON.parse(reply.text).htsget.urls;
};
const errorOf = (reply: RawReply) => [reply.status, JSON.parse(reply.text).htsget.error];
/** Path below the API of a data URL. */
const pathOf = ({ url }: Url) => url.slice(service.connection.dataOutUrl.replace(/\/$/, '').length + 1);
const fetched = (url: Url, init: RawRequest = {}) =>
  service.direct(pathOf(url), undefined, { ...init, headers: { ...url.headers, ...init.headers } });

async function bytesOf(url: Url): Promise<Buffer> {
  if (url.url.startsWith('data:;base64,')) {
    expect(url.headers).toBeUndefined();
    return Buffer.from(url.url.slice('data:;base64,'.length), 'base64');
  }
  const reply = await fetched(url);
  expect([reply.status, reply.complete, reply.headers['content-length']]).toEqual([
    200,
    true,
    String(reply.bytes.length),
  ]);
  return reply.bytes;
}

async function joined(reply: RawReply): Promise<Buffer> {
  return Buffer.concat(await Promise.all(urlsOf(reply).map(bytesOf)));
}

const formatOf = (name: string) => (name.endsWith('.bam') ? 'BAM' : name.endsWith('.bcf') ? 'BCF' : 'VCF');
const found = (name: string, bytes: Buffer, text: string) =>
  digest(within(recordsOf(formatOf(name), bytes), parsed(text)));

const withRecords = files.filter((name) => !name.endsWith('.cram'));
/** test/unit/regions/htslib.test.ts has every region. */
const cases = withRecords.flatMap((name) =>
  ['three:1-20000 one:50001-50100', 'whole'].map((text) => [name, text] as const),
);

describe('the records of a ticket are those of htslib', () => {
  test.each(cases)('%s %s, encrypted for a key of the caller', async (name, text) => {
    const body = { encryptionScheme: 'C4GH', ...(text !== 'whole' && { regions: parsed(text) }) };
    const reply = await posted(name, body, key);
    expect(urlsOf(reply)[0]?.url).toMatch(/^data:;base64,Y3J5cHQ0Z2g/);
    expect(found(name, Buffer.from(readPlainly(await joined(reply), recipient.privateKey)), text)).toEqual(
      answers[name]?.[text],
    );
  });

  test('also of unplaced reads, of a region in the query, and by the path of the file', async () => {
    expect(found('reads.bam', await joined(await ticket('reads.bam', '?referenceName=*')), '*')).toEqual(
      answers['reads.bam']?.['*'],
    );
    for (const id of ['EGAD1%2Frun%201%2Freads.bam', 'EGAD1/run%201/reads.bam']) {
      const reply = await ticket(id, '?referenceName=one&start=0&end=1000&format=BAM');
      expect(found('reads.bam', await joined(reply), 'one:1-1000')).toEqual(answers['reads.bam']?.['one:1-1000']);
    }
  });
});

describe('the pieces', () => {
  test('of a small region are in the ticket: the header, the records, the end', async () => {
    const urls = urlsOf(await ticket('spanning.bam', '?referenceName=one&start=50000&end=50100'));
    expect(urls.map((url) => [url.class, url.headers])).toEqual(
      urls.map((_, index) => [index === 0 ? 'header' : 'body', undefined]),
    );
    expect(await bytesOf(urls.at(-1)!)).toEqual(endMarkers.BAM);
    expect(recordsOf('BAM', await bytesOf(urls[0]!))).toEqual([]);
  });

  test('of a large file are parts of 5 MiB, and joined they are the file, each block sent once', async () => {
    const urls = urlsOf(await ticket('long.bam'));
    expect(urls.map((url) => [url.class, url.headers !== undefined])).toEqual([
      ['header', false],
      ...[1, 2, 3].map(() => ['body', true]),
    ]);
    const bytes = await Promise.all(urls.map(bytesOf));
    expect(Buffer.concat(bytes).equals(long())).toBe(true);
    // AWS Lambda sends the first 6 MB of a reply at full speed, and the rest at 2 MB/s.
    expect(bytes.every(({ length }) => length < 6_000_000)).toBe(true);
  });

  test('of a large file for a key are a container of the archived body', async () => {
    const urls = urlsOf(await ticket('long.bam', '', { headers: key }));
    expect(urls).toHaveLength(4);
    const container = Buffer.concat(await Promise.all(urls.map(bytesOf)));
    expect(Buffer.from(readPlainly(container, recipient.privateKey)).equals(long())).toBe(true);
  });

  test('of the header alone for a key are its blocks and the end marker, if no record shares one of them', async () => {
    const container = await joined(await ticket('reads.bam', '?class=header', { headers: key }));
    const header = Buffer.concat([vector('reads.bam').subarray(0, headerBytes), endMarkers.BAM]);
    expect(Buffer.from(readPlainly(container, recipient.privateKey)).equals(header)).toBe(true);
    const shared = await ticket('spanning.bam', '?class=header', { headers: key });
    expect([...errorOf(shared), JSON.parse(shared.text).htsget.message]).toEqual([
      400,
      'UnsupportedFormat',
      'The header ends within a block that also has records: ask for it as plaintext.',
    ]);
  });
});

describe('an archived file with an edit list', () => {
  /** The pieces of reads.bam between the places, with a byte before each that the edit list skips. */
  async function archivedInPieces(name: string, places: readonly number[]): Promise<string> {
    const bytes = vector('reads.bam');
    const cuts = [0, ...places, bytes.length];
    const pieces = cuts.slice(1).map((end, at) => bytes.subarray(cuts[at], end));
    const target = localTarget(service.connection);
    const [archiveKey] = await readArchiveKeys(target.archiveKeys);
    const container = encrypt(streamed(Buffer.concat(pieces.flatMap((piece) => [Buffer.from('x'), piece]))), {
      recipients: [archiveKey.publicKey],
      editList: pieces.flatMap(({ length }) => [1n, BigInt(length)]),
    });
    await service.archiveBytes('EGAD1', `${name}.bai`, streamed(vector('reads.bam.bai')));
    const { fileId } = await service.archiveBytes('EGAD1', name, container);
    ids[name] = fileId;
    return name;
  }
  const text = 'one:200001-230000';

  test('gives its regions, in plaintext and for a key', async () => {
    const name = await archivedInPieces('pieces.bam', [100_000, 150_000, 220_000]);
    const plain = await joined(await posted(name, { regions: parsed(text) }));
    expect(found(name, plain, text)).toEqual(answers['reads.bam']?.[text]);
    const container = await joined(await posted(name, { regions: parsed(text) }, key));
    const bytes = Buffer.from(readPlainly(container, recipient.privateKey));
    expect(found(name, bytes, text)).toEqual(answers['reads.bam']?.[text]);
  });
});

describe('the token of a ticket', () => {
  const stolen = async () => {
    const [, url, next] = urlsOf(await ticket('long.bam'));
    return { url: url!, next: next!, token: url!.headers!.Authorization!.slice('Bearer '.length) };
  };
  const statusOf = async (path: string, token: string) => (await service.direct(path, token)).status;

  test('opens its own URL and no other range, form, key, file, ticket or route', async () => {
    const { url, next, token } = await stolen();
    const path = pathOf(url);
    expect(await statusOf(path, token)).toBe(200);
    const encrypted = urlsOf(await ticket('long.bam', '', { headers: key }));
    const forAnother = pathOf(encrypted[1]!).replace(/[0-9a-f]{64}$/, createHash('sha256').update('x').digest('hex'));
    const others = [
      pathOf(next),
      path.replace(/records\..*/, 'header'),
      path.replace(/-\d+/, '-1'),
      path.replace(ids['long.bam'] ?? '', ids['reads.bam'] ?? ''),
      pathOf(encrypted[1]!),
      forAnother,
      `htsget/reads/${ids['long.bam']}`,
      `files/${ids['long.bam']}`,
      'metadata/datasets',
    ];
    for (const other of others) expect([other, await statusOf(other, token)]).toEqual([other, 401]);
    const encryptedToken = encrypted[1]!.headers!.Authorization!.slice('Bearer '.length);
    expect([await statusOf(forAnother, encryptedToken), await statusOf(path, encryptedToken)]).toEqual([401, 401]);
  });

  test('ends when the dataset is withdrawn', async () => {
    const { url, token } = await stolen();
    await service.setDataset('EGAD1', 'deprecated');
    const reply = await service.direct(pathOf(url), token);
    await service.setDataset('EGAD1', 'released');
    expect(errorOf(reply)).toEqual([403, 'PermissionDenied']);
  });

  test('stands in no log', async () => {
    const { url, token } = await stolen();
    await fetched(url);
    expect(service.logs.filter(({ line }) => line.includes(token.slice(-20)))).toEqual([]);
  });
});

describe('calls', () => {
  const callsOf = (caller: string) =>
    Object.entries(service.engine.traffic.counters())
      .filter(([name]) => name.startsWith(`${caller} `) && !name.endsWith('GetSecretValue'))
      .map(([name, { calls }]) => `${name.slice(caller.length + 1)} ${calls}`)
      .sort();

  test('are one of the database for a ticket and three of S3, whether header and index are in memory or not', async () => {
    const { fileId } = await service.archiveBytes('EGAD1', 'new.bam', streamed(long()));
    // One block in the middle of the file: 51 times 249,216 bytes of records, each beginning with one of 23,297 bytes.
    const block = headerBytes + 30 * 249_216;
    const index = bai(4681, [offset(block, 5), offset(block + 23_297)]);
    await service.archiveBytes('EGAD1', 'new.bam.bai', streamed(index));
    const asked = async () => {
      service.engine.traffic.resetCounters();
      urlsOf(await service.direct(`htsget/reads/${fileId}?referenceName=one&start=100&end=200`, visa));
      return callsOf('htsget');
    };
    expect(await asked()).toEqual(['rds-data ExecuteStatement 1', 's3 GetObject 3']);
    expect(await asked()).toEqual(['rds-data ExecuteStatement 1', 's3 GetObject 1', 's3 HeadObject 2']);
  });

  test('are one of the database for a part', async () => {
    const [, url] = urlsOf(await ticket('long.bam', '', { headers: key }));
    service.engine.traffic.resetCounters();
    await fetched(url!);
    expect(callsOf('htsget')).toEqual(['rds-data ExecuteStatement 1', 's3 GetObject 5', 's3 HeadObject 1']);
    expect(callsOf('authorize-visa')).toEqual([]);
  });
});
