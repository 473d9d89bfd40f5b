import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { inOrder } from '../../../../../../lib/client/api/download/remote/in-order.ts';
import { ChangedError, type RemoteFile } from '../../../../../../lib/client/api/download/remote/remote-file.ts';
import { UnavailableError } from '../../../../../../lib/client/api/errors.ts';
import { Transport } from '../../../../../../lib/client/api/transport.ts';
import { systemTiming } from '../../../../../../lib/common/timing.ts';

const mib = 2 ** 20;
const transport = new Transport({ userAgent: 'test', timing: { ...systemTiming, sleep: async () => undefined } });

/** A remote file; each request may fail, or take its time. Later pieces come sooner. */
function remoteOf(content: Buffer, fault: (request: number) => Error | undefined = () => undefined) {
  const seen = { requests: 0, open: 0, most: 0, ranges: [] as string[] };
  const remote: RemoteFile = {
    name: 'file',
    size: content.length,
    async get({ range, known, signal }) {
      seen.requests += 1;
      seen.open += 1;
      seen.most = Math.max(seen.most, seen.open);
      const error = fault(seen.requests);
      const { start, end } = range ?? { start: 0, end: content.length };
      seen.ranges.push(`${start / mib}-${end / mib} ${known?.etag ?? 'any'}`);
      return {
        version: { size: content.length, etag: '"1"', lastModified: undefined },
        bytes: {
          async *[Symbol.asyncIterator]() {
            await pause(1 + (content.length - start) / mib, undefined, signal ? { signal } : {});
            yield content.subarray(start, start + 10);
            seen.open -= 1;
            if (error) throw error;
            yield content.subarray(start + 10, end);
          },
        },
        discard: async () => undefined,
      };
    },
  };
  return { remote, seen };
}

const collect = (remote: RemoteFile, connections = 3) =>
  buffer(inOrder(remote, { connections, transport, signal: undefined }));

test.each([0, 1, 5 * mib, 5 * mib + 1, 23 * mib])('%i bytes come whole and in order', async (size) => {
  const content = randomBytes(size);
  const { remote } = remoteOf(content);
  expect((await collect(remote)).equals(content)).toBe(true);
});

test('the first piece says which version the others must be of, and then several are under way', async () => {
  const { remote, seen } = remoteOf(randomBytes(23 * mib));
  await collect(remote);
  expect(seen.ranges).toEqual(['0-5 any', '5-10 "1"', '10-15 "1"', '15-20 "1"', '20-23 "1"']);
  expect(seen.most).toBe(3);
});

test('a piece that breaks off is fetched again, and nothing of it is given out twice', async () => {
  const content = randomBytes(12 * mib);
  const { remote, seen } = remoteOf(content, (request) => (request === 2 ? new UnavailableError('cut') : undefined));
  expect((await collect(remote)).equals(content)).toBe(true);
  expect(seen.requests).toBe(4);
});

test('a file that is replaced meanwhile is an error', async () => {
  const { remote } = remoteOf(randomBytes(12 * mib), (request) =>
    request === 2 ? new ChangedError('file') : undefined,
  );
  await expect(collect(remote)).rejects.toBeInstanceOf(ChangedError);
});

test('an early end of the iteration ends the requests under way', async () => {
  const { remote, seen } = remoteOf(randomBytes(40 * mib));
  for await (const _ of inOrder(remote, { connections: 3, transport, signal: undefined })) break;
  const { requests } = seen;
  await pause(50);
  expect(seen.requests).toBe(requests);
});
