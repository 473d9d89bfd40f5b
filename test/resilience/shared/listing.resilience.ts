import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AwsCall, Fault } from '../../../lib/local/endpoint/traffic.ts';
import { expectProblem, type RawReply, type RawRequest, rawRequest } from '../../helpers/raw-http.ts';
import { basic, type ListedFile, Service } from '../../helpers/service.ts';

/** `GET /files`: pages, size, streaming, and S3 or the database failing under it. */

let service: Service;
let visa: string;
const subject = 'researcher with 2,500 files';
/** In S3's order, which is that of the bytes. */
const names = Array.from({ length: 2500 }, (_, at) => {
  const path = ['sample.bam', 'Sample_1.vcf.gz', 'a-very-long-name.cram.crai', 'x'][at % 4];
  return `EGAF${String(15_000_000_000 + at * 7).padStart(11, '0')}-${path}.c4gh`;
}).sort();

beforeAll(async () => {
  service = await Service.shared();
  visa = await service.visa({ subject });
  await inParallel(names, (name) => service.putStaged(subject, name, name));
});
afterAll(() => service?.stop());

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const waiting = items.values();
  const lane = async () => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: 40 }, lane));
}

function get(query: string, init: RawRequest = {}, user = service.connection.archiveUser): Promise<RawReply> {
  const headers = { Authorization: basic(user), 'X-GA4GH-Visa': visa };
  return rawRequest(service.connection.proxyUrl, `files${query}`, { headers, ...init });
}

interface Listing {
  readonly statusCode: number;
  readonly statusText: string;
  readonly files: readonly ListedFile[];
  readonly page: string;
}

async function list(query: string): Promise<Listing> {
  const reply = await get(`?inbox=false${query}`);
  expect([reply.status, reply.complete, reply.headers['cache-control']]).toEqual([200, true, 'no-store']);
  return JSON.parse(reply.text) as Listing;
}

async function namesOf(query: string): Promise<readonly string[]> {
  return (await list(query)).files.map(({ fileName }) => fileName);
}

const isSecondPage = ({ caller, action, url }: AwsCall) =>
  caller === 'files' && action === 'ListObjectsV2' && url.includes('continuation-token=');

describe('an outbox of 2,500 files', () => {
  test('is listed whole by default, each file exactly once, in order, with its size', async () => {
    const listing = await list('');
    expect(listing).toMatchObject({ statusCode: 200, statusText: 'OK', page: '0' });
    expect(listing.files.map(({ fileName }) => fileName)).toEqual(names);
    for (const { fileName, size, href, modifiedDate, ...rest } of listing.files) {
      expect([size, href]).toEqual([fileName.length, `stream/${fileName}`]);
      expect(new Date(modifiedDate).toISOString()).toBe(modifiedDate);
      expect(rest).toMatchObject({
        exportable: true,
        reason: null,
        mimeType: 'application/octet-stream',
        owner: subject,
      });
    }
  });

  // Clients in the field ask for pages until one is shorter than asked for.
  test.each([300, 999, 1000, 1001, 1250, 2499, 2500, 2501, 50_000])(
    'is listed exactly once over pages of %i, each page full but the last',
    async (perPage) => {
      const seen: string[] = [];
      for (let page = 0; ; page += 1) {
        const listing = await list(`&page=${page}&per_page=${perPage}`);
        expect(listing.page).toBe(String(page));
        seen.push(...listing.files.map(({ fileName }) => fileName));
        if (listing.files.length < perPage) break;
        expect(listing.files).toHaveLength(perPage);
      }
      expect(seen).toEqual(names);
    },
  );

  test.each([
    [999, 3],
    [1000, 3],
    [2500, 4],
  ])('is listed exactly once by pages of %i, each behind the last name: %i calls of S3', async (perPage, calls) => {
    const seen: string[] = [];
    service.engine.traffic.resetCounters();
    for (let after = ''; ; after = `&after=${seen.at(-1)}`) {
      const { files } = await list(`&per_page=${perPage}${after}`);
      seen.push(...files.map(({ fileName }) => fileName));
      if (files.length < perPage) break;
    }
    expect(seen).toEqual(names);
    expect(service.calls('files s3 ListObjectsV2')).toBe(calls);
  });

  test('pages of 1 are at their place, at the borders of S3’s pages and past the end', async () => {
    const places = [0, 1, 998, 999, 1000, 1001, 1999, 2000, 2498, 2499, 2500, 50_000];
    for (const place of places) {
      expect(await namesOf(`&per_page=1&page=${place}`)).toEqual(names.slice(place, place + 1));
    }
  });

  test.each(['&page=-1&per_page=0', '&per_page=-1', '&per_page=-0', '&page=-999999999', '&page=0&per_page=00'])(
    'the stock client’s "%s" means the defaults',
    async (query) => {
      const { files, page } = await list(query);
      expect([files.length, page]).toEqual([2500, '0']);
    },
  );

  test('a page far past the end is empty, and says its number', async () => {
    for (const page of ['2500', '999999999']) {
      expect(await list(`&page=${page}`)).toEqual({ statusCode: 200, statusText: 'OK', files: [], page });
    }
  });

  test('S3 is asked only as far as the page goes', async () => {
    service.engine.traffic.resetCounters();
    await list('&per_page=1000');
    expect(service.calls('files s3 ListObjectsV2')).toBe(1);
    await list('&per_page=1001');
    expect(service.calls('files s3 ListObjectsV2')).toBe(3);
  });

  test('begins to arrive before S3 is asked for its second page', async () => {
    const arrived: string[] = [];
    let atSecondPage: string | undefined;
    const stop = service.engine.traffic.observe((call) => {
      if (isSecondPage(call)) atSecondPage ??= arrived.at(-1) ?? '';
    });
    const heal = service.engine.traffic.addFault((call) => (isSecondPage(call) ? { delayMs: 700 } : undefined));
    const reply = await get('?inbox=false', { onText: (text) => arrived.push(text) }).finally(heal);
    stop();
    // The whole first S3 page, and nothing of the second.
    expect([999, 1000].map((at) => atSecondPage?.includes(names[at] ?? '?'))).toEqual([true, false]);
    expect((JSON.parse(reply.text) as Listing).files).toHaveLength(2500);
  });

  const error = (status: number, code: string): Fault => ({ error: { status, code } });
  test.each([
    ['fails', error(500, 'InternalError')],
    ['refuses', error(403, 'AccessDenied')],
    ['breaks the connection', { drop: true }],
  ])('S3 %s on its second page: the reply breaks off and is not JSON', async (_, fault: Fault) => {
    const logged = service.logs.length;
    const heal = service.engine.traffic.addFault((call) => (isSecondPage(call) ? fault : undefined));
    const reply = await get('?inbox=false').finally(heal);
    expect([reply.status, reply.complete]).toEqual([200, false]);
    expect([999, 1000].map((at) => reply.text.includes(names[at] ?? '?'))).toEqual([true, false]);
    expect(() => JSON.parse(reply.text)).toThrow(SyntaxError);
    const lines = service.logs.slice(logged).filter(({ functionName }) => functionName === 'files');
    expect(lines.some(({ line }) => line.includes('reply broke off'))).toBe(true);
  });

  test('S3 failing on its first page: a problem; failing twice: retries hide it', async () => {
    let failures = Number.POSITIVE_INFINITY;
    const heal = service.engine.traffic.addFault((call) => {
      if (call.caller !== 'files' || call.service !== 's3' || failures === 0) return undefined;
      failures -= 1;
      return error(503, 'ServiceUnavailable');
    });
    expectProblem(await get('?inbox=false'), 503, 'temporarily_unavailable');
    failures = 2;
    expect(await namesOf('')).toHaveLength(2500);
    heal();
  });

  test('callers that go away in the middle, and many at once, do not disturb others', async () => {
    const heal = service.engine.traffic.addFault((call) => (isSecondPage(call) ? { delayMs: 100 } : undefined));
    const gone = await Promise.all(Array.from({ length: 4 }, () => get('?inbox=false', { onText: () => false })));
    for (const reply of gone) expect(reply.complete).toBe(false);
    const lists = await Promise.all(Array.from({ length: 8 }, () => namesOf('')));
    heal();
    for (const listed of lists) expect(listed).toEqual(names);
  });
});

describe('whose files', () => {
  const listFor = async (token: string) => {
    const headers = { Authorization: basic(service.connection.archiveUser), 'X-GA4GH-Visa': token };
    return (JSON.parse((await get('?inbox=False', { headers })).text) as Listing).files;
  };

  test('an empty outbox is not an error', async () => {
    expect(await listFor(await service.visa({ subject: 'newcomer' }))).toEqual([]);
  });

  test('only the caller’s own, and only what this service can have staged', async () => {
    await service.putStaged('owner', 'EGAF00000000001-own.c4gh');
    for (const name of ['folder/EGAF00000000001-inner.c4gh', '.hidden.c4gh', 'with space.c4gh', 'a%2Fb', '']) {
      await service.putStaged('owner', name);
    }
    for (const neighbour of ['owner ', 'Owner', 'owne', 'owner2']) {
      await service.putStaged(neighbour, 'EGAF00000000002-theirs.c4gh');
    }
    const files = await listFor(await service.visa({ subject: 'owner' }));
    expect(files).toMatchObject([{ fileName: 'EGAF00000000001-own.c4gh', owner: 'owner' }]);
  });

  test('receipts are listed where they are asked for, and stream by name either way', async () => {
    const [container, jws] = ['EGAF00000000001-a.c4gh', 'EGAD00000000001-request.delivery.jws'];
    await service.putStaged('with a receipt', container);
    await service.putStaged('with a receipt', jws, 'a receipt');
    const token = await service.visa({ subject: 'with a receipt' });
    const listed = async (query: string) => (await service.list(token, query)).map(({ fileName }) => fileName);
    expect(await listed('')).toEqual([container]);
    expect(await listed('&receipts=false&per_page=1')).toEqual([container]);
    expect(await listed('&receipts=true')).toEqual([jws, container]);
    expect((await service.download(token, jws)).toString()).toBe('a receipt');
  });

  test('a passport with visas of two identities: both outboxes, in one order, a name once', async () => {
    await service.putStaged('first', 'EGAF00000000001-a.c4gh', '1');
    await service.putStaged('first', 'EGAF00000000003-c.c4gh', '3');
    await service.putStaged('second', 'EGAF00000000002-b.c4gh', '22');
    await service.putStaged('second', 'EGAF00000000003-c.c4gh', '333');
    const visas = [await service.visa({ subject: 'second' }), await service.visa({ subject: 'first' })];
    const files = await listFor(await service.passport('first', visas));
    expect(files.map(({ fileName, size }) => [fileName, size])).toEqual([
      ['EGAF00000000001-a.c4gh', 1],
      ['EGAF00000000002-b.c4gh', 2],
      ['EGAF00000000003-c.c4gh', 1],
    ]);
  });
});

describe('malformed questions', () => {
  test('no inbox: refused by the gateway, before anything runs', async () => {
    service.engine.traffic.resetCounters();
    for (const query of ['', '?page=0', '?inbox', '?inbox=', '?Inbox=false']) {
      expect(expectProblem(await get(query), 400, 'invalid_request').detail).toContain('inbox');
    }
    expect(service.engine.traffic.counters()).toEqual({});
  });

  test.each([
    ['?inbox=true', ['inbox']],
    ['?inbox=0', ['inbox']],
    ['?inbox=false&inbox=true', ['inbox']],
    ['?inbox=false&per_page=50001', ['per_page']],
    ['?inbox=false&per_page=1000000000', ['per_page']],
    ['?inbox=false&per_page=ten', ['per_page']],
    ['?inbox=false&per_page=', ['per_page']],
    ['?inbox=false&per_page=1.5', ['per_page']],
    ['?inbox=false&per_page=1e3', ['per_page']],
    ['?inbox=false&per_page=%2B10', ['per_page']],
    ['?inbox=false&per_page=10%20', ['per_page']],
    ['?inbox=false&per_page=0x10', ['per_page']],
    ['?inbox=false&per_page=%D9%A1%D9%A0', ['per_page']],
    ['?inbox=false&per_page=10&per_page=10', ['per_page']],
    ['?inbox=false&page=first', ['page']],
    ['?inbox=false&page=NaN', ['page']],
    ['?inbox=false&page=99999999999999999999', ['page']],
    ['?inbox=false&receipts=', ['receipts']],
    ['?inbox=false&receipts=all', ['receipts']],
    ['?inbox=false&receipts=true&receipts=true', ['receipts']],
    ['?inbox=true&page=x&per_page=50001', ['inbox', 'page', 'per_page']],
  ])('%s: 400, every broken rule named', async (query, fields) => {
    const { violations = [] } = expectProblem(await get(query), 400, 'invalid_request');
    expect(violations.map(({ field }) => field)).toEqual(fields);
  });
});

// Each user below calls for the first time, because right credentials are remembered for a minute.
describe('the database under the archive’s credentials', () => {
  const about = (call: AwsCall, username: string) =>
    call.caller === 'authorize-outbox' && call.service === 'rds-data' && JSON.stringify(call.input).includes(username);
  const resuming = { error: { status: 400, code: 'DatabaseResumingException' } };

  test.each([
    ['resumes for long', 'patient', resuming],
    ['never answers', 'silent', { delayMs: 20_000, drop: true }],
    ['is unavailable', 'unlucky', { error: { status: 504, code: 'DatabaseUnavailableException' } }],
  ])('%s: 503 with Retry-After well before the gateway gives up', { concurrent: true }, async (_, username, fault) => {
    const user = await service.addArchiveUser(username, 'secret');
    const heal = service.engine.traffic.addFault((call) => (about(call, username) ? fault : undefined));
    const started = performance.now();
    expectProblem(await get('?inbox=false', {}, user).finally(heal), 503, 'temporarily_unavailable');
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  test('resumes soon: the listing comes', { concurrent: true }, async () => {
    const user = await service.addArchiveUser('early', 'secret');
    let failures = 3;
    const heal = service.engine.traffic.addFault((call) => {
      if (!about(call, 'early') || failures === 0) return undefined;
      failures -= 1;
      return resuming;
    });
    const reply = await get('?inbox=false&per_page=1', {}, user).finally(heal);
    expect([reply.status, failures]).toEqual([200, 0]);
  });

  test('refuses a statement for good: 503, and the text says nothing', { concurrent: true }, async () => {
    const user = await service.addArchiveUser('damaged', 'secret');
    const fault = { error: { status: 400, code: 'DatabaseErrorException', message: 'secret-cause; SQLState: 42501' } };
    const heal = service.engine.traffic.addFault((call) => (about(call, 'damaged') ? fault : undefined));
    const reply = await get('?inbox=false', {}, user).finally(heal);
    // The authorizer failed, so nothing is known about the caller's credentials.
    expectProblem(reply, 503, 'temporarily_unavailable');
    expect(reply.text).not.toContain('secret-cause');
  });
});
