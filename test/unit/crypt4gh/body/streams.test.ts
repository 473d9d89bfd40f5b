import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, expect, test } from 'vitest';
import {
  decryptionDuplex,
  decryptionStream,
  encrypt,
  encryptionDuplex,
  encryptionStream,
  generateKeyPair,
} from '../../../../lib/crypt4gh/index.ts';
import { collect, generatedPlaintext, inChunks } from '../../../helpers/crypt4gh-vectors.ts';

const { privateKey, publicKey } = generateKeyPair();
const privateKeys = [privateKey];
const recipients = [publicKey];
const plaintext = generatedPlaintext('streams', 3 * 65_536 + 5);
const container = await collect(encrypt([plaintext], { recipients }));
const damaged = Buffer.from(container);
damaged[124 + 65_564 + 20]! ^= 1;

function webStream(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return ReadableStream.from(inChunks(bytes, 10_000));
}

/** A source without end that counts what was asked of it. */
function endless(chunk: Uint8Array) {
  const state = { pulled: 0, closed: false };
  async function* chunks() {
    try {
      for (;;) {
        state.pulled += 1;
        yield chunk;
      }
    } finally {
      state.closed = true;
    }
  }
  return { state, chunks: chunks() };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 20));

describe('Web streams', () => {
  test('encrypt and decrypt between two ends', async () => {
    const there = webStream(plaintext).pipeThrough(encryptionStream({ recipients }));
    expect(await collect(there.pipeThrough(decryptionStream({ privateKeys })))).toEqual(plaintext);
  });

  test('fail with the error that the library names', async () => {
    const broken = webStream(damaged).pipeThrough(decryptionStream({ privateKeys }));
    await expect(collect(broken)).rejects.toMatchObject({ code: 'segment-authentication-failed', segment: 1 });
    const cut = webStream(container.subarray(0, 124 + 65_564)).pipeThrough(
      decryptionStream({ privateKeys, expectedSize: plaintext.length }),
    );
    await expect(cut.pipeTo(new WritableStream())).rejects.toMatchObject({ code: 'truncated-body' });
  });

  test('close the source when decryption fails, and when the reader stops', async () => {
    const failing = endless(damaged);
    const { readable } = {
      readable: ReadableStream.from(failing.chunks).pipeThrough(decryptionStream({ privateKeys })),
    };
    await expect(collect(readable)).rejects.toMatchObject({ code: 'segment-authentication-failed' });
    await turn();
    expect(failing.state.closed).toBe(true);

    const given = endless(plaintext);
    await ReadableStream.from(given.chunks).pipeThrough(encryptionStream({ recipients })).cancel();
    await turn();
    expect(given.state.closed).toBe(true);
  });

  test.each([
    ['damage', () => decryptionStream({ privateKeys }), { code: 'segment-authentication-failed', segment: 1 }],
    ['a wrong argument', () => encryptionStream({ recipients: [] }), { name: 'RangeError' }],
  ])('give the source %s as the reason why it is cancelled', async (_, stream, reason) => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const source = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(damaged),
      cancel: resolve,
    });
    const read = collect(source.pipeThrough(stream()));
    await expect(read).rejects.toMatchObject(reason);
    expect(await promise).toMatchObject(reason);
  });

  test('let a writer that wrote all there is end well', async () => {
    const { readable, writable } = decryptionStream({ privateKeys });
    const written = new Blob([container]).stream().pipeTo(writable);
    expect(await collect(readable)).toEqual(plaintext);
    await expect(written).resolves.toBeUndefined();
  });

  test('carry an error of the source on', async () => {
    async function* failing() {
      yield container.subarray(0, 70_000);
      throw new Error('connection reset');
    }
    const broken = ReadableStream.from(failing()).pipeThrough(decryptionStream({ privateKeys }));
    await expect(collect(broken)).rejects.toThrow('connection reset');
  });

  test('end where the edit list does, and close the source', async () => {
    const edited = await collect(encrypt([plaintext], { recipients, editList: [5n, 10n] }));
    const { state, chunks } = endless(edited);
    const read = await collect(ReadableStream.from(chunks).pipeThrough(decryptionStream({ privateKeys })));
    expect(read).toEqual(plaintext.subarray(5, 15));
    await turn();
    expect(state.closed).toBe(true);
  });

  test('tell a writer that is not piped through why no more is taken', async () => {
    const short = await collect(encrypt([plaintext], { recipients, editList: [0n, 10n] }));
    const { readable, writable } = decryptionStream({ privateKeys });
    const written = new Blob([short]).stream().pipeTo(writable);
    const [read, given] = await Promise.allSettled([collect(readable), written]);
    expect(read).toMatchObject({ status: 'fulfilled', value: plaintext.subarray(0, 10) });
    expect(given).toMatchObject({ status: 'rejected', reason: { name: 'TypeError' } });
  });

  test('can be given up while they wait for input', async () => {
    let reason: unknown;
    const { readable, writable } = decryptionStream({ privateKeys });
    const reader = readable.getReader();
    const waiting = reader.read();
    const closed = writable.getWriter().closed.catch((error: unknown) => {
      reason = error;
    });
    await reader.cancel('enough');
    expect((await waiting).done).toBe(true);
    await closed;
    expect(reason).toBe('enough');
  });

  test('ask for no more than the reader takes', async () => {
    const { state, chunks } = endless(plaintext);
    const reader = ReadableStream.from(chunks).pipeThrough(encryptionStream({ recipients })).getReader();
    for (let count = 0; count < 5; count += 1) await reader.read();
    await turn();
    expect(state.pulled).toBeLessThanOrEqual(5);
    await reader.cancel();
  });
});

describe('Node streams', () => {
  async function through(bytes: Uint8Array, duplex: ReturnType<typeof decryptionDuplex>): Promise<Buffer> {
    const chunks: Buffer[] = [];
    const sink = new Writable({
      write(chunk, _, done) {
        chunks.push(chunk);
        done();
      },
    });
    await pipeline(Readable.from(inChunks(bytes, 10_000)), duplex, sink);
    return Buffer.concat(chunks);
  }

  test('encrypt and decrypt in a pipeline', async () => {
    const encrypted = await through(plaintext, encryptionDuplex({ recipients }));
    expect(await through(encrypted, decryptionDuplex({ privateKeys }))).toEqual(plaintext);
  });

  test('fail with the error that the library names', async () => {
    await expect(through(damaged, decryptionDuplex({ privateKeys }))).rejects.toMatchObject({
      code: 'segment-authentication-failed',
    });
    const stranger = [generateKeyPair().privateKey];
    await expect(through(container, decryptionDuplex({ privateKeys: stranger }))).rejects.toMatchObject({
      code: 'no-decryptable-packet',
    });
  });

  test('let the rest of the source run past where the edit list ends', async () => {
    const edited = await collect(encrypt([plaintext], { recipients, editList: [5n, 10n] }));
    expect(await through(edited, decryptionDuplex({ privateKeys }))).toEqual(plaintext.subarray(5, 15));
  });

  test('take an empty plaintext, and tell an empty container', async () => {
    const empty = await through(new Uint8Array(), encryptionDuplex({ recipients }));
    expect(empty.length).toBe(124);
    expect((await through(empty, decryptionDuplex({ privateKeys }))).length).toBe(0);
    await expect(through(new Uint8Array(), decryptionDuplex({ privateKeys }))).rejects.toMatchObject({
      code: 'truncated-header',
    });
  });

  test('can be given up while they wait for input', async () => {
    const duplex = decryptionDuplex({ privateKeys });
    duplex.read();
    await turn();
    const closed = new Promise((resolve) => duplex.once('close', () => resolve('closed')));
    duplex.destroy();
    expect(await closed).toBe('closed');
  });

  test('are destroyed with the pipeline when the sink fails', async () => {
    const { state, chunks } = endless(plaintext);
    const duplex = encryptionDuplex({ recipients });
    const sink = new Writable({ write: (_chunk, _, done) => done(new Error('disk full')) });
    await expect(pipeline(Readable.from(chunks), duplex, sink)).rejects.toThrow('disk full');
    await turn();
    expect({ destroyed: duplex.destroyed, closed: state.closed }).toEqual({ destroyed: true, closed: true });
  });

  test('carry an error of the source on', async () => {
    async function* failing() {
      yield container.subarray(0, 70_000);
      throw new Error('connection reset');
    }
    const sink = new Writable({ write: (_chunk, _, done) => done() });
    await expect(pipeline(Readable.from(failing()), decryptionDuplex({ privateKeys }), sink)).rejects.toThrow(
      'connection reset',
    );
  });

  test('ask for little more than a slow sink takes', async () => {
    const { state, chunks } = endless(plaintext);
    const taken: (() => void)[] = [];
    const sink = new Writable({ highWaterMark: 1, write: (_chunk, _, done) => void taken.push(done) });
    const controller = new AbortController();
    const done = pipeline(Readable.from(chunks), encryptionDuplex({ recipients }), sink, { signal: controller.signal });
    await turn();
    // Chunks of 196,613 bytes wait in four buffers: of the source (objects), both ends of the duplex, the sink.
    expect(state.pulled).toBeLessThanOrEqual(24);
    controller.abort();
    await expect(done).rejects.toThrow('aborted');
  });
});
