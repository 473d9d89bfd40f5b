import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { chunksOf } from '../../../../lib/client/api/chunks-of.ts';

async function collected(stream: Readable, heldBytes = 10): Promise<readonly Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of chunksOf(stream, heldBytes)) chunks.push(chunk);
  return chunks;
}

test('chunks come as they are, not put together', async () => {
  const sent = ['one', 'two', 'three'].map((text) => Buffer.from(text));
  const stream = new PassThrough();
  const taken = collected(stream);
  for (const chunk of sent) stream.write(chunk);
  stream.end();
  const chunks = await taken;
  expect(chunks.length).toBe(3);
  for (const [index, chunk] of chunks.entries()) expect(chunk).toBe(sent[index]);
});

test('of a consumer that is slow the stream waits', async () => {
  let made = 0;
  const stream = new Readable({
    highWaterMark: 4,
    read() {
      made += 1;
      this.push(made > 1000 ? null : Buffer.alloc(4));
    },
  });
  const iterator = chunksOf(stream, 10);
  await iterator.next();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(made).toBeLessThan(20);
  let bytes = 4;
  for await (const chunk of iterator) bytes += chunk.length;
  expect(bytes).toBe(4000);
});

test('a stream that fails, before or while it is read, fails after the bytes that have come', async () => {
  const stream = new PassThrough();
  const iterator = chunksOf(stream, 10);
  stream.write('some');
  expect((await iterator.next()).value?.toString()).toBe('some');
  stream.destroy(new Error('broken'));
  await expect(iterator.next()).rejects.toThrow('broken');
  await expect(chunksOf(stream, 10).next()).rejects.toThrow('broken');
});

test('a stream that is closed before its end is no end', async () => {
  const stream = new PassThrough();
  const iterator = chunksOf(stream, 10);
  stream.write('some');
  await iterator.next();
  stream.destroy();
  await expect(iterator.next()).rejects.toThrow('before its end');
  await expect(chunksOf(stream, 10).next()).rejects.toThrow('before its end');
});

test('an early end of the iteration ends the stream', async () => {
  const stream = new PassThrough();
  stream.write('some');
  for await (const _chunk of chunksOf(stream, 10)) break;
  expect(stream.destroyed).toBe(true);
});
