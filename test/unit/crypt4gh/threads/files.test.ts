import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { decryptFile, encrypt, encryptFile, generateKeyPair, SegmentWorkers } from '../../../../lib/crypt4gh/index.ts';
import { collect, generatedPlaintext } from '../../../helpers/crypt4gh-vectors.ts';

const headerBytes = 124;
const encryptedSegmentBytes = 65_564;
const directory = mkdtempSync(join(tmpdir(), 'crypt4gh-files-'));
const workers = new SegmentWorkers({ threads: 2 });
afterAll(async () => {
  await workers.close();
  rmSync(directory, { recursive: true });
});

const { privateKey, publicKey } = generateKeyPair();
const recipients = [publicKey];
const privateKeys = [privateKey];
// Nine times what a thread takes at once; the last segment is not full.
const plaintext = generatedPlaintext('files', 35 * 65_536 + 500);
const container = await collect(encrypt([plaintext], { recipients }));

/** Runs a function from a file with these bytes to one that held something else; gives what that holds afterwards. */
async function through(
  bytes: Uint8Array,
  use: (source: FileHandle, target: FileHandle) => Promise<void>,
): Promise<{ result: Buffer; error: unknown }> {
  const [from, to] = [join(directory, 'from'), join(directory, 'to')];
  writeFileSync(from, bytes);
  writeFileSync(to, 'something longer than nothing');
  await using source = await open(from);
  await using target = await open(to, 'r+');
  let error: unknown;
  await use(source, target).catch((reason: unknown) => {
    error = reason;
  });
  return { result: readFileSync(to), error };
}

function counting() {
  let calls = 0;
  return (size: number) => {
    calls += 1;
    return new Uint8Array(size).fill(calls);
  };
}

const decrypted = (bytes: Uint8Array, more: object = {}) =>
  through(bytes, (source, target) => decryptFile(source, target, { privateKeys, workers, ...more }));

describe('files', () => {
  test.each([0, 65_536, 16 * 65_536 + 1, plaintext.length])(
    'of %d bytes are encrypted to what a stream would be, and decrypted again',
    async (size) => {
      const plain = plaintext.subarray(0, size);
      const expected = await collect(encrypt([plain], { recipients, random: counting() }));
      const { result, error } = await through(plain, (source, target) =>
        encryptFile(source, target, { recipients, workers, random: counting() }),
      );
      expect(error).toBeUndefined();
      expect(result.equals(expected)).toBe(true);
      const back = await decrypted(result, { expectedSize: size });
      expect(back.error).toBeUndefined();
      expect(back.result.equals(plain)).toBe(true);
    },
  );

  test('are not written over themselves', async () => {
    const path = join(directory, 'one file');
    for (const [bytes, use] of [
      [container, (one: FileHandle, other: FileHandle) => decryptFile(one, other, { privateKeys, workers })],
      [plaintext, (one: FileHandle, other: FileHandle) => encryptFile(one, other, { recipients, workers })],
    ] as const) {
      writeFileSync(path, bytes);
      await using one = await open(path);
      await using other = await open(path, 'r+');
      await expect(use(one, other)).rejects.toThrow(new RangeError('expected another file as target than as source'));
      expect(readFileSync(path).equals(bytes)).toBe(true);
    }
  });

  test('leave no data key in memory when a recipient is refused', async () => {
    const given: Uint8Array[] = [];
    const random = (size: number) => {
      const bytes = new Uint8Array(size).fill(1);
      given.push(bytes);
      return bytes;
    };
    const { error } = await through(plaintext, (source, target) =>
      encryptFile(source, target, { recipients: [new Uint8Array(32)], workers, random }),
    );
    expect(error).toMatchObject({ code: 'weak-public-key' });
    expect(given).toEqual([new Uint8Array(32), new Uint8Array(32)]);
  });

  test('are decrypted by the edit list of their header', async () => {
    const editList = [70_000n, 100n, 1_000_000n];
    const edited = await collect(encrypt([plaintext], { recipients, editList }));
    const expected = Buffer.concat([plaintext.subarray(70_000, 70_100), plaintext.subarray(1_070_100)]);
    expect((await decrypted(edited)).result.equals(expected)).toBe(true);
    const early = await collect(encrypt([plaintext], { recipients, editList: [5n, 10n] }));
    expect((await decrypted(early)).result).toEqual(plaintext.subarray(5, 15));
  });
});

describe('a target that', () => {
  const truncations = async (name: string) => {
    const [from, to] = [join(directory, 'from'), join(directory, name)];
    writeFileSync(from, container);
    await using source = await open(from);
    await using target = await open(to, 'w');
    if (name === 'used') await target.write('something');
    const truncate = vi.spyOn(target, 'truncate');
    await decryptFile(source, target, { privateKeys, workers });
    expect(readFileSync(to).equals(plaintext)).toBe(true);
    return truncate.mock.calls;
  };

  test('is new is not emptied: ext4 would write it to the disk before it is closed', async () => {
    expect(await truncations('new')).toEqual([]);
  });

  test('holds something is emptied', async () => {
    expect(await truncations('used')).toEqual([[0]]);
  });
});

describe('a file of more than one job, 64 MiB,', () => {
  const segments = 1_024 + 5;
  const size = segments * 65_536 - 7;
  /** In the second job, so that bytes of the first in their place are seen. */
  const mark = Buffer.from('here is the second job');
  const markedAt = 1_024 * 65_536 + 12_345;
  const paths = ['marked', 'encrypted', 'again'].map((name) => join(directory, name)) as [string, string, string];
  const [marked, encrypted, again] = paths;
  const encryptMarked = async () => {
    await using from = await open(marked);
    await using to = await open(encrypted, 'w');
    await encryptFile(from, to, { recipients, workers });
  };
  const decryptAgain = async (threads = workers) => {
    await using from = await open(encrypted);
    await using to = await open(again, 'w');
    await decryptFile(from, to, { privateKeys, workers: threads });
  };
  beforeAll(async () => {
    await using plain = await open(marked, 'w');
    await plain.truncate(size);
    await plain.write(mark, 0, mark.length, markedAt);
    await encryptMarked();
  });
  afterAll(() => paths.map((path) => rmSync(path)));

  test('comes back whole, and no nonce is used twice', async () => {
    await decryptAgain();
    const bytes = readFileSync(again);
    const expected = Buffer.alloc(size);
    mark.copy(expected, markedAt);
    expect(bytes.equals(expected)).toBe(true);
    const container = readFileSync(encrypted);
    const nonces = Array.from({ length: segments }, (_, index) =>
      container.toString(
        'hex',
        headerBytes + index * encryptedSegmentBytes,
        headerBytes + index * encryptedSegmentBytes + 12,
      ),
    );
    expect(new Set(nonces).size).toBe(segments);
  });

  test('damaged in the second leaves what comes before it', async () => {
    const segment = 1_024 + 2;
    const at = headerBytes + segment * encryptedSegmentBytes + 100;
    await using file = await open(encrypted, 'r+');
    const { buffer: before } = await file.read(Buffer.alloc(16), 0, 16, at);
    await file.write(
      before.map((byte) => byte ^ 1),
      0,
      16,
      at,
    );
    await expect(decryptAgain()).rejects.toMatchObject({ code: 'segment-authentication-failed', segment });
    expect((await stat(again)).size).toBe(segment * 65_536);
    await file.write(before, 0, 16, at);
  });

  test('is left as it is when the threads are closed', async () => {
    const closing = new SegmentWorkers({ threads: 2 });
    const stopped = decryptAgain(closing);
    // Until the threads are at it.
    while (!existsSync(again) || (await stat(again)).size < 1_000_000) await new Promise((next) => setTimeout(next, 1));
    await Promise.all([closing.close(), expect(stopped).rejects.toThrow('have been closed')]);
    const { size: left } = await stat(again);
    expect(left).toBeLessThan(size);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await stat(again)).size).toBe(left);
  });
});

describe('a file that is', () => {
  test.each([0, 16, 35])('damaged in segment %d leaves what comes before it', async (segment) => {
    const damaged = Buffer.from(container);
    damaged[headerBytes + segment * encryptedSegmentBytes + 20]! ^= 1;
    const { result, error } = await decrypted(damaged);
    expect(error).toMatchObject({
      code: 'segment-authentication-failed',
      segment,
      start: segment * encryptedSegmentBytes,
    });
    expect(result.equals(plaintext.subarray(0, segment * 65_536))).toBe(true);
  });

  test('cut is found before anything is written', async () => {
    const before = { result: Buffer.from('something longer than nothing') };
    const expectedSize = plaintext.length;
    const cut = await decrypted(container.subarray(0, headerBytes + 3 * encryptedSegmentBytes), { expectedSize });
    expect(cut).toMatchObject({ error: { code: 'truncated-body', segment: 3 }, ...before });
    const inside = await decrypted(container.subarray(0, headerBytes + 3 * encryptedSegmentBytes + 5));
    expect(inside).toMatchObject({ error: { code: 'truncated-segment', segment: 3 }, ...before });
  });

  test('for another reader is not touched', async () => {
    const { result, error } = await decrypted(container, { privateKeys: [generateKeyPair().privateKey] });
    expect(error).toMatchObject({ code: 'no-decryptable-packet' });
    expect(result.toString()).toBe('something longer than nothing');
  });
});
