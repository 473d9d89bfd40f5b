import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { sendBody } from '../../../../lib/service/http/send-body.ts';

const segment = 65_536;

/** Takes one piece at a time, and holds it until the test releases it. */
class HeldStream extends Writable {
  readonly texts: string[] = [];
  leave: () => void = () => {};
  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.texts.push(chunk.toString('latin1', 0, 1));
    this.leave = callback;
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('the memory of a piece is freed when the piece has left, not before; then the next one is asked for', async () => {
  const pieces = ['a', 'b'].map((letter) => Buffer.alloc(segment, letter));
  let asked = 0;
  async function* body() {
    for (const piece of pieces) {
      asked += 1;
      yield piece;
    }
  }
  const stream = new HeldStream();
  const sent = sendBody(body(), stream);
  await settled();
  expect([asked, pieces.map(({ length }) => length), stream.texts]).toEqual([1, [segment, segment], ['a']]);
  stream.leave();
  await settled();
  expect([asked, pieces.map(({ length }) => length), stream.texts]).toEqual([2, [0, segment], ['a', 'b']]);
  stream.leave();
  await sent;
  expect(stream.writableFinished).toBe(true);
});

test('memory that holds more than the piece is not freed', async () => {
  const whole = Buffer.alloc(2 * segment, 'a');
  const stream = new Writable({ write: (_chunk, _encoding, callback) => callback() });
  async function* body() {
    yield whole.subarray(0, segment);
  }
  await sendBody(body(), stream);
  expect(whole.length).toBe(2 * segment);
});

test('a reader that goes away ends the body, also while a piece is on its way', async () => {
  let ended = false;
  async function* body() {
    try {
      for (;;) yield Buffer.alloc(10);
    } finally {
      ended = true;
    }
  }
  for (const error of [new Error('connection reset'), undefined]) {
    ended = false;
    const stream = new HeldStream();
    const sent = sendBody(body(), stream);
    await settled();
    stream.destroy(error);
    await expect(sent).rejects.toThrow(error?.message ?? /destroyed|close/i);
    expect(ended).toBe(true);
  }
});

test('a reader that is not done in time ends the body, with enough time left to log it', async () => {
  let ended = false;
  async function* body() {
    try {
      for (;;) yield Buffer.alloc(10);
    } finally {
      ended = true;
    }
  }
  const stream = new HeldStream();
  await expect(sendBody(body(), stream, 20)).rejects.toThrow('the reply was not taken in time');
  // The runtime ends the stream: a destroyed stream costs the function its process.
  expect([ended, stream.destroyed, stream.writableEnded]).toEqual([true, false, false]);
});

test('Lambda’s stream is an HTTP request: all is sent when the request has ended, with or without a reply to it', async () => {
  let received = '';
  const server = createServer(async (incoming) => {
    received = await text(incoming);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const stream = request({ method: 'POST', port: (server.address() as AddressInfo).port });
    await sendBody('all of it', stream as unknown as Writable, 5000);
    await expect.poll(() => received).toBe('all of it');
    stream.on('error', () => {}).destroy();
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test('an end that is never taken is not awaited either', async () => {
  const stream = new Writable({ write: (_chunk, _encoding, callback) => callback(), final: () => {} });
  await expect(sendBody('x', stream, 20)).rejects.toThrow('the reply was not taken in time');
});

test('a body that fails leaves the stream to the runtime, neither ended nor destroyed', async () => {
  async function* body() {
    yield 'a';
    throw new RangeError('no more');
  }
  const errors: unknown[] = [];
  const stream = new Writable({ write: (_chunk, _encoding, callback) => callback() });
  stream.on('error', (error) => errors.push(error.message));
  await expect(sendBody(body(), stream)).rejects.toThrow('no more');
  await settled();
  expect([stream.destroyed, stream.writableEnded, errors]).toEqual([false, false, []]);
});
