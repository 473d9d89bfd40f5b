import { expect, test } from 'vitest';
import { crcOf, formatCrc } from '../../../../lib/common/crc64nvme.ts';
import { unavailable } from '../../../../lib/errors.ts';
import type { MultipartUpload } from '../../../../lib/service/archive/ports.ts';
import { planMultipart } from '../../../../lib/service/containers/plan.ts';
import { containerCrc, sendParts } from '../../../../lib/service/containers/write-container.ts';

const GiB = 1024 ** 3;
const header = Buffer.alloc(124, 'header');
const source = { address: { archiveLocation: undefined, archiveFilePath: 'b' }, archiveEtag: '"e"', bodySize: 4 * GiB };

test('SlowDown in the middle of a copy: fewer in flight, and every part once, in order', async () => {
  const plan = planMultipart(header.length, source.bodySize);
  let inFlight = 0;
  let refusals = 0;
  let mostSince = 0;
  const taken: number[] = [];
  const upload: MultipartUpload = {
    uploadId: 'u',
    uploadPart: async (partNumber) => ({ partNumber, etag: '"1"', crc64nvme: undefined }),
    copyPart: async (partNumber) => {
      inFlight += 1;
      await new Promise((resolve) => setImmediate(resolve));
      if (refusals > 0 && taken.length > 45) mostSince = Math.max(mostSince, inFlight);
      inFlight -= 1;
      if (partNumber === 10 && refusals === 0) {
        refusals += 1;
        throw unavailable('slow down', { wantsFewerCalls: true });
      }
      taken.push(partNumber);
      return { partNumber, etag: `"${partNumber}"`, crc64nvme: undefined };
    },
    parts: async () => [],
    complete: () => Promise.reject(new Error('not called')),
    abort: async () => {},
  };
  const archive = {
    head: () => Promise.reject(new Error('not called')),
    read: async (_: unknown, { start, end }: { start: number; end: number }) => Buffer.alloc(end - start),
  };
  const timing = { now: () => new Date(0), sleep: async () => {}, random: () => 0 };
  const parts = await sendParts(upload, { header, body: source }, plan, {
    archive,
    remainingMs: () => 900_000,
    timing,
  });
  expect(parts.map(({ partNumber }) => partNumber)).toEqual(Array.from({ length: 65 }, (_, at) => at + 1));
  expect(new Set(taken).size).toBe(64);
  expect(taken).toHaveLength(64);
  // Halved to 16, and one more for each run of successes as long as that.
  expect(mostSince).toBeGreaterThan(0);
  expect(mostSince).toBeLessThan(20);
});

test('the checksum of a container follows from header and body, and from nothing when the body has none', async () => {
  const body = Buffer.alloc(100_003, 'body');
  const crc64nvme = formatCrc(await crcOf(body));
  expect(await containerCrc(header, { bodySize: body.length, crc64nvme })).toBe(
    formatCrc(await crcOf(Buffer.concat([header, body]))),
  );
  expect(await containerCrc(header, { bodySize: body.length })).toBeUndefined();
});
