import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AwsCall } from '../../../lib/local/endpoint/traffic.ts';
import { type RawReply, type RawRequest, rawRequest } from '../../helpers/raw-http.ts';
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
});
