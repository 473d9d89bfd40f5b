import { expect, test } from 'vitest';
import { IncomingReply, type TransportReply } from '../../../../lib/client/api/incoming-reply.ts';

const mebibyte = Buffer.alloc(1024 * 1024);

/** A reply, and what the HTTP library sees of it. */
function makeReply(signal?: AbortSignal) {
  const seen = { started: [] as TransportReply[], failed: [] as unknown[], aborted: [] as unknown[], paused: false };
  const controller = {
    pause() {
      seen.paused = true;
    },
    resume() {
      seen.paused = false;
    },
    abort: (reason: unknown) => void seen.aborted.push(reason),
  } as unknown as Parameters<IncomingReply['onRequestStart']>[0];
  const reply = new IncomingReply({
    signal,
    started: (each) => void seen.started.push(each),
    failed: (error) => void seen.failed.push(error),
    failure: (error) => new Error(`failed: ${(error as Error).message}`),
  });
  reply.onRequestStart(controller);
  return { reply, seen, data: (bytes: Uint8Array) => reply.onResponseData(controller, bytes) };
}

test('chunks come as they are, not put together', async () => {
  const { reply, data } = makeReply();
  const sent = ['one', 'two', 'three'].map((text) => Buffer.from(text));
  reply.onResponseStart(undefined, 200, {});
  for (const chunk of sent) data(chunk);
  reply.onResponseEnd();
  const chunks: Uint8Array[] = [];
  for await (const chunk of reply.body) chunks.push(chunk);
  expect(chunks.length).toBe(3);
  for (const [index, chunk] of chunks.entries()) expect(chunk).toBe(sent[index]);
});

test('of a consumer that is slow the connection waits', async () => {
  const { reply, seen, data } = makeReply();
  reply.onResponseStart(undefined, 200, {});
  data(mebibyte);
  expect(seen.paused).toBe(false);
  data(mebibyte);
  expect(seen.paused).toBe(true);
  await reply.body[Symbol.asyncIterator]().next();
  expect(seen.paused).toBe(false);
});

test('a connection that fails, fails after the bytes that have come', async () => {
  const { reply, seen, data } = makeReply();
  reply.onResponseStart(undefined, 200, {});
  const chunks = reply.body[Symbol.asyncIterator]();
  data(Buffer.from('some'));
  expect((await chunks.next()).value?.toString()).toBe('some');
  const next = chunks.next();
  reply.onResponseError(undefined, new Error('broken'));
  await expect(next).rejects.toThrow('failed: broken');
  expect(seen.failed).toEqual([]);
});

test('a connection that fails before the status fails the request', () => {
  const { reply, seen } = makeReply();
  reply.onResponseStart(undefined, 103, {});
  reply.onResponseError(undefined, new Error('broken'));
  expect(seen.started).toEqual([]);
  expect(seen.failed).toEqual([new Error('failed: broken')]);
});

test('a rest that is not wanted is given up, and an end is not', async () => {
  const broken = makeReply();
  broken.data(Buffer.from('some'));
  for await (const _ of broken.reply.body) break;
  expect(broken.seen.aborted.length).toBe(1);
  const whole = makeReply();
  whole.reply.onResponseEnd();
  await whole.reply.discard();
  expect(whole.seen.aborted).toEqual([]);
});

test('the signal ends the request, also one that was given before', () => {
  const abort = new AbortController();
  const { seen } = makeReply(abort.signal);
  expect(seen.aborted.length).toBe(0);
  abort.abort();
  expect(seen.aborted.length).toBe(1);
  expect(makeReply(abort.signal).seen.aborted.length).toBe(1);
});
