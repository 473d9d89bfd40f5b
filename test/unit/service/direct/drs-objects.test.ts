import { beforeEach, describe, expect, test } from 'vitest';
import type { DataOutError } from '../../../../lib/errors.ts';
import { describeObject, giveAccessUrl } from '../../../../lib/service/direct/drs.ts';
import { plaintextOf } from '../../../../lib/service/direct/plaintext.ts';
import type { FileFacts } from '../../../../lib/service/direct/ports.ts';
import { DrsWorld } from '../../../helpers/drs-world.ts';
import { httpRequest } from '../../../helpers/http-request.ts';

const base = 'https://data.example.org/v1';
let world: DrsWorld;
let visa: string;
beforeEach(async () => {
  world = await DrsWorld.make();
  visa = await world.issuer.visa({ dataset: 'EGAD1' });
});

const request = (credentials: string | { passports: unknown }, objectId = 'EGAF1', accessId = 'plaintext') =>
  httpRequest({
    ...(typeof credentials === 'string'
      ? { headers: { Authorization: `Bearer ${credentials}` } }
      : { method: 'POST', body: credentials, headers: { 'Content-Type': 'application/json' } }),
    pathParameters: { object_id: objectId, access_id: accessId },
  });
const object = async (...sent: Parameters<typeof request>) =>
  JSON.parse((await describeObject(request(...sent), base, world.endpoint)).body);
const access = async (...sent: Parameters<typeof request>) =>
  JSON.parse((await giveAccessUrl(request(...sent), base, world.endpoint)).body);

/** As ingestion records the plaintext of the vector. */
const sha256 = '7fe21a19a553e1e2e1c6642c9abbbf848f01f43f61c3ba4e2f4ed6f596d277af';
const facts = (changes: Partial<FileFacts> = {}): FileFacts => ({
  decryptedFileSize: 66_001,
  createdAt: new Date('2026-01-02T03:04:05Z'),
  plaintextChecksums: [
    { type: 'SHA256', value: sha256 },
    { type: 'MD5', value: '0123456789abcdef0123456789abcdef' },
  ],
  ...changes,
});

describe('an object', () => {
  test('describes the plaintext that is served', async () => {
    world.facts = facts();
    const issuers = { supported_types: ['BearerAuth', 'PassportAuth'], passport_auth_issuers: [world.issuer.iss] };
    expect(await object(visa)).toEqual({
      id: 'EGAF1',
      name: 'r_w_data.bam',
      self_uri: 'drs://data.example.org/EGAF1',
      size: 66_001,
      created_time: '2026-01-02T03:04:05.000Z',
      mime_type: 'application/octet-stream',
      checksums: [
        { type: 'sha-256', checksum: sha256 },
        { type: 'md5', checksum: '0123456789abcdef0123456789abcdef' },
      ],
      access_methods: [
        {
          type: 'https',
          access_id: 'plaintext',
          authorizations: { drs_object_id: 'EGAF1', ...issuers, bearer_auth_issuers: [world.issuer.iss] },
        },
        {
          type: 'htsget',
          access_id: 'htsget',
          access_url: { url: `${base}/htsget/reads/EGAF1` },
          authorizations: { drs_object_id: 'EGAF1', ...issuers, bearer_auth_issuers: [world.issuer.iss] },
        },
      ],
    });
    expect(world.served).toEqual([{ requestId: 'gateway-request', fileId: 'EGAF1', datasetId: 'EGAD1' }]);
    expect(world.ports.archive.bytesRead).toBe(0);
  });

  test.each([
    ['recorded no checksum', facts({ plaintextChecksums: [] })],
    ['recorded another size', facts({ decryptedFileSize: 66_000 })],
  ])('of which ingestion %s has the entity tag of the served file as checksum', async (_, known) => {
    world.facts = known;
    const file = await world.ports.catalogue.findReleasedFile({ fileId: 'EGAF1', datasetId: 'EGAD1' });
    const etag = file && (await plaintextOf(file, world.ports.direct)).etag.slice(1, -1);
    expect(await object(visa)).toMatchObject({ size: 66_001, checksums: [{ type: 'etag', checksum: etag }] });
  });

  test.each([[[100n, 50n]], [[100n, 20n, 7n, 30n]], [[100n]]])(
    'behind the edit list %s has the size and the checksums that ingestion recorded of the kept bytes',
    async (editList) => {
      world.facts = facts({ decryptedFileSize: 50 });
      world.writeHeader(['alice'], editList);
      expect(await object(visa)).toMatchObject({ size: 50, checksums: [{ type: 'sha-256', checksum: sha256 }, {}] });
    },
  );

  test('of several recipients has the size of its body', async () => {
    world.facts = facts();
    world.writeHeader(['alice', 'bob']);
    expect(await object(visa)).toMatchObject({ size: 66_001, checksums: [{ type: 'sha-256' }, { type: 'md5' }] });
  });

  test.each([
    ['was entered', facts({ createdAt: undefined }), ['alice'], undefined, /^file EGAF1: .*when the file was entered/],
    [
      'has how many bytes, if it may be edited',
      facts({ decryptedFileSize: undefined }),
      ['alice', 'bob'],
      undefined,
      /says nothing/,
    ],
    ['has fewer bytes than its body', facts({ decryptedFileSize: 66_002 }), ['alice', 'bob'], undefined, /says 66002/],
    ['was cut', facts(), ['alice'], [100n, 50n], /says 66001, and its body has 66001/],
  ])('is not described when the catalogue does not say that it %s', async (_, known, recipients, edits, message) => {
    world.facts = known;
    world.writeHeader(recipients, edits);
    const error = await object(visa).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'archive_damaged' });
    expect((error as Error).message).toMatch(message);
  });
});

describe('an access URL', () => {
  test('leads to the file, with the caller’s own token', async () => {
    expect(await access(visa)).toEqual({
      url: `${base}/files/EGAF1/r%C3%A4w%20data.bam`,
      headers: [`Authorization: Bearer ${visa}`],
    });
    const reply = await giveAccessUrl(request(visa), base, world.endpoint);
    expect(reply.headers).toMatchObject({ 'Cache-Control': 'no-store' });
    expect(JSON.stringify(world.served)).not.toContain(visa);
  });

  test('of htsget leads to the tickets of reads, also for passports', async () => {
    const passport = await world.issuer.passport([visa]);
    for (const [sent, token] of [[visa, visa] as const, [{ passports: [passport] }, passport] as const]) {
      expect(await access(sent, 'EGAF1', 'htsget')).toEqual({
        url: `${base}/htsget/reads/EGAF1`,
        headers: [`Authorization: Bearer ${token}`],
      });
    }
  });

  test('by another method is refused with those that exist', async () => {
    const message = 'access_id must be plaintext, or htsget for reads and variants';
    await expect(access(visa, 'EGAF1', 's3')).rejects.toMatchObject({ code: 'not_found', message });
  });
});

describe('passports', () => {
  test('the first that grants the object counts; refused ones do no harm', async () => {
    const good = await world.issuer.passport([visa]);
    const other = await world.issuer.passport([await world.issuer.visa({ dataset: 'EGAD2' })]);
    const { headers } = await access({ passports: ['a.b.c', other, good] });
    expect(headers).toEqual([`Authorization: Bearer ${good}`]);
    expect(await object({ passports: [good] })).toMatchObject({ id: 'EGAF1' });
  });

  test('are decided together, each once, with one query about access to the catalogue', async () => {
    const passports = await Promise.all(
      ['EGAD2', 'EGAD3', 'doi:1'].map(async (dataset, at) =>
        world.issuer.passport([await world.issuer.visa({ dataset, sub: `researcher-${at}` })]),
      ),
    );
    const verified: string[] = [];
    const rules = {
      ...world.endpoint.rules,
      verify: (token: string) => {
        verified.push(token);
        return world.endpoint.rules.verify(token);
      },
    };
    const endpoint = { ...world.endpoint, rules };
    await giveAccessUrl(request({ passports: [...passports, ...passports, 'a.b.c'] }), base, endpoint);
    expect(verified).toEqual([...passports, 'a.b.c']);
    expect(world.ports.calls.names).toEqual(['catalogue.evaluateAccess', 'catalogue.findReleasedFile']);
  });

  test('of which one is too long for a header: another that grants the object as well goes in its place', async () => {
    world.ports.catalogue.addDataset('EGAD0', { released: true, fileIds: ['EGAF1'] });
    const bound = await world.issuer.visa({ dataset: 'EGAD0', claims: { note: 'x'.repeat(8192) } });
    const long = await world.issuer.passport([bound]);
    const short = await world.issuer.passport([visa]);
    // The first dataset by id is that of the long one.
    const { headers } = await access({ passports: [long, short] });
    expect(headers).toEqual([`Authorization: Bearer ${short}`]);
    expect(world.served).toMatchObject([{ fileId: 'EGAF1', datasetId: 'EGAD1' }]);
  });

  test('that are all refused are 401, and 403 when one of them is good for something else', async () => {
    const other = await world.issuer.passport([await world.issuer.visa({ dataset: 'EGAD2' })]);
    await expect(object({ passports: ['a.b.c'] })).rejects.toThrow(
      expect.objectContaining({ code: 'unauthenticated' }),
    );
    await expect(object({ passports: [] })).rejects.toThrow(expect.objectContaining({ code: 'unauthenticated' }));
    await expect(object({ passports: [other, 'a.b.c'] })).rejects.toThrow(
      expect.objectContaining({ code: 'forbidden' }),
    );
  });

  test.each([
    ['no list', { passports: 'a.b.c' }, ['passports']],
    ['no texts', { passports: [7, null] }, ['passports.0', 'passports.1']],
    ['too many', { passports: Array(11).fill('a.b.c') }, ['passports']],
    ['an object to register', { passports: ['a.b.c'], object: { id: 'x' } }, ['object']],
  ])('%s: every violation is named, no value repeated', async (_, body, fields) => {
    const error: DataOutError = await object(body as never).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'invalid_request' });
    expect(error.violations?.map(({ field }) => field)).toEqual(fields);
    expect(JSON.stringify(error.violations)).not.toContain('a.b.c');
  });

  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

  test('a body of 8 levels is taken; a deeper one is refused before it is parsed', async () => {
    const deep = [{ field: 'body', message: 'must not be nested deeper than 8 levels' }];
    const post = (body: string) =>
      describeObject(
        httpRequest({ method: 'POST', body, pathParameters: { object_id: 'EGAF1' } }),
        base,
        world.endpoint,
      );
    const around = (value: string) => `{"passports":["${visa}"],"more":${value}}`;
    expect((await post(around(nested(7)))).status).toBe(200);
    // Neither brackets in a text nor siblings make it deeper.
    expect((await post(around(`["\\"${'['.repeat(20)}"${`,${nested(6)}`.repeat(20)}]`))).status).toBe(200);
    await expect(post(around(nested(8)))).rejects.toMatchObject({ violations: deep });
    await expect(post(around(`"\\\\",${'{"a":'.repeat(8)}`))).rejects.toMatchObject({ violations: deep });
    await expect(post('['.repeat(2_600_000))).rejects.toMatchObject({ violations: deep });
  });

  test('hold 200 visas in all: more are refused before any signature is checked', async () => {
    const two = [await world.issuer.passport(Array(150).fill(visa)), await world.issuer.passport(Array(50).fill(visa))];
    expect(await object({ passports: two })).toMatchObject({ id: 'EGAF1' });
    const forged = `${two[0]?.slice(0, -4)}AAAA`;
    const more = await world.issuer.passport(Array(51).fill(visa));
    const violations = [{ field: 'passports', message: 'must not hold more than 200 visas in all' }];
    await expect(object({ passports: [forged, more] })).rejects.toMatchObject({ violations });
  });

  test('too long for a header give the visa in them that grants the object, by its own id or an alias', async () => {
    const padding = { note: 'x'.repeat(6500) };
    for (const dataset of ['EGAD1', 'doi:1']) {
      const granting = await world.issuer.visa({ dataset });
      const visas = [await world.issuer.visa({ dataset: 'EGAD2' }), 'a.b.c', granting];
      const long = await world.issuer.passport(visas, { claims: padding });
      expect((await access({ passports: [long] })).headers).toEqual([`Authorization: Bearer ${granting}`]);
    }
    const both = await world.issuer.passport([await world.issuer.visa({ dataset: 'EGAD1', claims: padding })]);
    await expect(access({ passports: [both] })).rejects.toThrow(/do not fit a header/);
  });
});
