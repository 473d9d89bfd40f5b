import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { outboxPrefix } from '../../../../lib/contract/outbox-key.ts';
import { unavailable } from '../../../../lib/errors.ts';
import { expiryDate, type ListingAccess, listFiles } from '../../../../lib/service/outbox/list-files.ts';
import { FakeOutboxReader } from '../../../helpers/fake-outbox-reader.ts';
import { httpRequest, type RequestParts } from '../../../helpers/http-request.ts';
import { makeTestIssuer } from '../../../helpers/issuer.ts';
import { type AccessWorld, accessWorld, requestTime } from '../../../helpers/recipient-access.ts';

let world: AccessWorld;
let mine: string;
let outbox: FakeOutboxReader;
let served: ListingAccess[];

beforeAll(async () => {
  world = await accessWorld();
  mine = outboxPrefix(world.subject('researcher-1'));
});
beforeEach(() => {
  outbox = new FakeOutboxReader();
  served = [];
});

async function list(parts: RequestParts, source: Pick<FakeOutboxReader, 'list'> = outbox) {
  const request = httpRequest({
    headers: await world.headers(),
    authorizer: { isAdmitted: 'true' },
    ...parts,
  });
  return await listFiles(request, {
    rules: world.access.rules,
    outbox: source,
    expiryDays: 30,
    served: (one) => served.push(one),
  });
}

interface Listing {
  readonly statusCode: number;
  readonly statusText: string;
  readonly files: { readonly fileName: string; readonly owner: string }[];
  readonly page: string;
}

async function listing(parts: RequestParts, source?: Pick<FakeOutboxReader, 'list'>): Promise<Listing> {
  let text = '';
  for await (const piece of (await list(parts, source)).body) text += piece;
  return JSON.parse(text) as Listing;
}

const outboxOnly = { inbox: 'false' };
const names = (count: number) => Array.from({ length: count }, (_, index) => `f${String(index).padStart(5, '0')}.c4gh`);

test('the reply has the fields that clients in the field read, and the expiry', async () => {
  outbox.stage(mine, {
    name: 'EGAF1-sample.bam.c4gh',
    size: 123_456_789_012,
    lastModified: new Date('2026-11-20T08:09:10Z'),
  });
  const reply = await list({ query: outboxOnly });
  expect(reply.status).toBe(200);
  expect(reply.headers).toEqual({
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'X-Request-Id': 'gateway-request',
  });
  expect(await listing({ query: outboxOnly })).toEqual({
    statusCode: 200,
    statusText: 'OK',
    files: [
      {
        fileName: 'EGAF1-sample.bam.c4gh',
        size: 123_456_789_012,
        modifiedDate: '2026-11-20T08:09:10.000Z',
        href: 'stream/EGAF1-sample.bam.c4gh',
        exportable: true,
        reason: null,
        mimeType: 'application/octet-stream',
        owner: 'researcher-1',
        expiryDate: '2026-12-21T00:00:00.000Z',
      },
    ],
    page: '0',
  });
});

test('a receipt has its own media type, and the entity tag by which clients keep it', async () => {
  const jws = 'EGAD1-0f8fad5b-d9cb-469f-a165-70867728950e.delivery.jws';
  outbox.stage(mine, { name: jws, etag: '"5d41402abc4b2a76b9719d911017c592"' }, { name: 'EGAF1-a.bam.c4gh' });
  const { files } = await listing({ query: { ...outboxOnly, receipts: 'true' } });
  expect(files).toMatchObject([
    { fileName: jws, mimeType: 'application/jose', etag: '"5d41402abc4b2a76b9719d911017c592"' },
    { fileName: 'EGAF1-a.bam.c4gh', mimeType: 'application/octet-stream' },
  ]);
  expect(files[1]).not.toHaveProperty('etag');
});

describe('receipts that are not asked for', () => {
  const jws = (index: number) => `EGAD${String(index).padStart(5, '0')}.delivery.jws`;

  test.each([{}, { receipts: 'false' }])('are not listed, and do not count: %j', async (asked) => {
    const receipts = Array.from({ length: 1500 }, (_, index) => ({ name: jws(index) }));
    outbox.stage(mine, ...receipts, ...names(5).map((name) => ({ name })), { name: 'z.delivery.jws' });
    const namesOf = async (query: Record<string, string>) =>
      (await listing({ query: { ...outboxOnly, ...asked, ...query } })).files.map(({ fileName }) => fileName);
    expect(await namesOf({})).toEqual(names(5));
    // A page that is shorter than asked for is the last one to clients in the field.
    expect(await namesOf({ per_page: '2' })).toEqual(names(5).slice(0, 2));
    expect(await namesOf({ per_page: '2', page: '2' })).toEqual(names(5).slice(4));
    expect(await namesOf({ after: jws(1400), per_page: '3' })).toEqual(names(5).slice(0, 3));
    expect(served.map(({ rows }) => rows)).toEqual([5, 2, 1, 3]);
  });
});

test('rows behind a name: the page counts from there, and a name that is gone is not an obstacle', async () => {
  outbox.stage(mine, ...names(10).map((name) => ({ name })));
  const namesOf = async (query: Record<string, string>) =>
    (await listing({ query: { ...outboxOnly, ...query } })).files.map(({ fileName }) => fileName);
  expect(await namesOf({ after: 'f00006.c4gh' })).toEqual(['f00007.c4gh', 'f00008.c4gh', 'f00009.c4gh']);
  expect(await namesOf({ after: 'f00004.c4gi', per_page: '2', page: '1' })).toEqual(['f00007.c4gh', 'f00008.c4gh']);
  expect(await namesOf({ after: 'f00009.c4gh' })).toEqual([]);
});

test('only the caller’s own files, ever', async () => {
  const foreign = await makeTestIssuer({ iss: 'https://other.example.org' });
  outbox.stage(outboxPrefix(world.subject('researcher-2')), { name: 'theirs.c4gh' });
  outbox.stage(outboxPrefix({ iss: foreign.iss, sub: 'researcher-1' }), { name: 'same-sub-elsewhere.c4gh' });
  outbox.stage(mine, { name: 'mine.c4gh' });
  expect((await listing({ query: outboxOnly })).files.map(({ fileName }) => fileName)).toEqual(['mine.c4gh']);
});

test('a passport shows the files of each of its identities, once', async () => {
  outbox.stage(mine, { name: 'one.c4gh' }, { name: 'both.c4gh' });
  outbox.stage(outboxPrefix(world.subject('alias')), { name: 'two.c4gh' }, { name: 'both.c4gh' });
  const visas = await Promise.all([
    world.issuer.visa(),
    world.issuer.visa({ sub: 'alias' }),
    world.issuer.visa({ dataset: 'EGAD2' }),
  ]);
  const headers = { 'X-GA4GH-Visa': await world.issuer.passport(visas) };
  const { files } = await listing({ headers, query: outboxOnly });
  expect(files.map(({ fileName, owner }) => [fileName, owner])).toEqual([
    ['both.c4gh', 'researcher-1'],
    ['one.c4gh', 'researcher-1'],
    ['two.c4gh', 'alias'],
  ]);
});

describe('an outbox of 2,500 files', () => {
  beforeEach(() => {
    outbox.stage(mine, ...names(2500).map((name) => ({ name })));
  });

  test('an S3 failure at the first page still is a status', async () => {
    outbox.failure = { atPage: 1, error: unavailable('S3') };
    await expect(list({ query: outboxOnly })).rejects.toThrow(
      expect.objectContaining({ code: 'temporarily_unavailable' }),
    );
  });

  test('a failure after that breaks the reply off: what was sent is not JSON', async () => {
    outbox.failure = { atPage: 3, error: unavailable('S3') };
    const { body } = await list({ query: outboxOnly });
    let text = '';
    const read = async () => {
      for await (const piece of body) text += piece;
    };
    await expect(read()).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
    expect(text).toContain('f01999.c4gh');
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
  });
});

describe('a caller is refused', () => {
  const hour = 3600;
  const now = requestTime.getTime() / 1000;

  test('with the reason, and without the visa', async () => {
    const visa = await world.issuer.visa({ exp: now - hour });
    const text = String(await list({ headers: { 'X-GA4GH-Visa': visa }, query: outboxOnly }).catch((reason) => reason));
    expect(text).toContain('expired');
    for (const part of visa.split('.')) expect(text).not.toContain(part);
  });

  test.each([
    ['nothing', {}],
    ['a user', { archiveUser: 'ana@archive' }],
    ['another word', { isAdmitted: 'false' }],
  ])('with a good visa, if the authorizer said %s: 401 and no listing', async (_, authorizer) => {
    await expect(list({ authorizer, query: outboxOnly })).rejects.toThrow(
      expect.objectContaining({ code: 'unauthenticated' }),
    );
    expect(outbox.pagesRead).toBe(0);
  });
});

test.each([
  // S3 User Guide, "Setting expiration": created 15 January 10:30, 3 days, gone from 19 January 00:00 UTC.
  ['2014-01-15T10:30:00.000Z', 3, '2014-01-19T00:00:00.000Z'],
  ['2026-02-28T23:59:59.999Z', 1, '2026-03-02T00:00:00.000Z'],
  ['2026-12-31T00:00:01.000Z', 30, '2027-01-31T00:00:00.000Z'],
])('made at %s, a container expires by a rule of %i days at %s', (created, days, expected) => {
  expect(expiryDate(new Date(created), days).toISOString()).toBe(expected);
});

describe('a listing is recorded', () => {
  test('once, with the parts of the outbox, the page and the rows that were sent', async () => {
    outbox.stage(mine, ...names(5).map((name) => ({ name })));
    await listing({ query: { ...outboxOnly, page: '1', per_page: '3' } });
    expect(served).toEqual([{ requestId: 'gateway-request', recipients: [mine], page: 1, rows: 2 }]);
  });

  test('with the user of the central archive, never the password or the visa', async () => {
    await listing({ query: outboxOnly, authorizer: { isAdmitted: 'true', archiveUser: 'ana@archive' } });
    expect(served).toEqual([
      { requestId: 'gateway-request', recipients: [mine], archiveUser: 'ana@archive', page: 0, rows: 0 },
    ]);
  });
});
