import { expect, test } from 'vitest';
import type { RangeRequest, RemoteFile } from '../../../../../lib/client/api/download/remote/remote-file.ts';
import { Transfer } from '../../../../../lib/client/api/download/transfer.ts';
import { Transport } from '../../../../../lib/client/api/transport.ts';

const mebibyte = 2 ** 20;
const size = 1024 * mebibyte;

/**
 * Downloads 1 GiB by up to four connections, each of which brings so many MiB in 100 ms of a clock that is moved by the
 * sleeps of the transfer alone.
 *
 * @returns how many connections were open at once at most
 */
async function mostConnections(mebibytesInTrial: number): Promise<number> {
  let [open, most] = [0, 0];
  const waiting = new Set<() => void>();
  const version = { size, etag: '"v1"', lastModified: undefined };
  const chunk = Buffer.alloc(mebibyte);
  const remote: RemoteFile = {
    name: 'large.c4gh',
    size,
    async get({ range }: RangeRequest) {
      const { start, end } = range ?? { start: 0, end: size };
      async function* bytes() {
        open += 1;
        most = Math.max(most, open);
        try {
          for (let at = start; at < end; at += mebibytesInTrial * mebibyte) {
            await new Promise<void>((next) => waiting.add(next));
            for (let sent = at; sent < Math.min(end, at + mebibytesInTrial * mebibyte); sent += mebibyte) yield chunk;
          }
        } finally {
          open -= 1;
        }
      }
      return { version, bytes: bytes(), discard: async () => undefined };
    },
  };
  const goOn = () => {
    const all = [...waiting];
    waiting.clear();
    for (const next of all) next();
  };
  const sleep = async () => {
    goOn();
    await new Promise((resolve) => setTimeout(resolve, 5));
  };
  const transport = new Transport({ userAgent: 'test', timing: { now: () => new Date(0), random: () => 0.5, sleep } });
  const transfer = new Transfer({
    remote,
    connections: 4,
    transport,
    signal: undefined,
    resumed: undefined,
    part: { write: async () => undefined },
    kept: () => undefined,
    retrying: () => undefined,
  });
  const pump = setInterval(goOn, 5);
  try {
    expect(await transfer.run()).toBe(size);
  } finally {
    clearInterval(pump);
    await transport.close();
  }
  return most;
}

test('a connection that brings 640 MB/s stays the only one', async () => {
  expect(await mostConnections(64)).toBe(1);
});

test('connections that bring 80 MB/s each are opened up to the number that was asked for', async () => {
  expect(await mostConnections(8)).toBe(4);
});
