import { beforeEach, describe, expect, test } from 'vitest';
import { unavailable } from '../../../../lib/errors.ts';
import type { ArchivedFile } from '../../../../lib/service/archive/ports.ts';
import { containerOf, headerAlone, isForAssembly } from '../../../../lib/service/direct/container.ts';
import { collect, generatedPlaintext, outcomeOf } from '../../../helpers/crypt4gh-vectors.ts';
import { ExportWorld, vector, vectorKey } from '../../../helpers/export-world.ts';
import { readPlainly } from '../../../helpers/plain-crypt4gh.ts';

const [alice, bob, carol] = [vectorKey('alice'), vectorKey('bob'), vectorKey('carol')];
const plaintext = generatedPlaintext('vectors/pos-07-header-apart', 66_001);
const MiB = 1024 * 1024;

let world: ExportWorld;
beforeEach(() => {
  world = ExportWorld.of(vector('split/body.bin'));
});

async function file(): Promise<ArchivedFile> {
  const found = await world.catalogue.findReleasedFile({ fileId: 'EGAF1', datasetId: 'EGAD1' });
  if (!found) throw new Error('no file');
  return found;
}

const container = async (recipient = bob) => containerOf(await file(), recipient.publicKey, world.direct);

describe('a container', () => {
  test('has a new header for the key, then the body unchanged: 124 and 66,057 bytes', async () => {
    const made = await container();
    expect(made).toMatchObject({ size: 66_181, fileName: 'EGAF1-sample.bam.c4gh' });
    expect(world.archive.bytesRead).toBe(0);
    const bytes = await collect(made.stream(0, made.size));
    expect(bytes.subarray(124).equals(vector('split/body.bin'))).toBe(true);
    expect(bytes.subarray(0, 124).equals(vector('split/header.bin'))).toBe(false);
    expect(readPlainly(bytes, bob.privateKey).equals(plaintext)).toBe(true);
    for (const other of [alice, carol]) expect(() => readPlainly(bytes, other.privateKey)).toThrow('not for this');
  });

  test('of another key, of another file, and of a body that was replaced by the same bytes has another tag', async () => {
    const tags = new Set([(await container()).etag, (await container(carol)).etag]);
    const other = { ...(await file()), fileId: 'EGAF2' };
    tags.add((await containerOf(other, bob.publicKey, world.direct)).etag);
    // Without a read of the bytes it is unknown that they are the same.
    world.archive.set('bodies/EGAF1', vector('split/body.bin'));
    tags.add((await container()).etag);
    expect(tags.size).toBe(4);
  });

  test('of an empty file is a header, and no read', async () => {
    world = ExportWorld.of(Buffer.alloc(0));
    const made = await container();
    expect(made.size).toBe(124);
    expect(readPlainly(await collect(made.stream(0, 124)), bob.privateKey)).toHaveLength(0);
    expect(world.calls.names.filter((name) => name === 'archive.read')).toEqual([]);
  });

  test('is for assembly above 6,000,000 bytes', async () => {
    for (const [bodySize, expected] of [
      [6_000_000 - 124, false],
      [6_000_000 - 123, true],
    ] as const) {
      world = ExportWorld.of(Buffer.alloc(bodySize));
      const made = await container();
      expect([made.size, isForAssembly(made)]).toEqual([bodySize + 124, expected]);
    }
  });
});

describe('reading', () => {
  test('runs ahead of its reader by at most four reads, in order', async () => {
    const body = Buffer.alloc(
      9 * MiB + 5,
      Uint8Array.from({ length: 251 }, (_, index) => index),
    );
    world = ExportWorld.of(body);
    const made = await container();
    const stream = made.stream(0, made.size)[Symbol.asyncIterator]();
    const reads = () => world.calls.names.filter((name) => name === 'archive.read').length;
    const pieces = [(await stream.next()).value ?? Buffer.alloc(0)];
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(reads()).toBeLessThanOrEqual(4);
    expect(reads()).toBeGreaterThan(1);
    for (let next = await stream.next(); !next.done; next = await stream.next()) pieces.push(next.value);
    expect(Buffer.concat(pieces).subarray(124).equals(body)).toBe(true);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBe(MiB + 124);
  });

  test('stops when the reply ends early', async () => {
    world = ExportWorld.of(Buffer.alloc(9 * MiB));
    const made = await container();
    for await (const piece of made.stream(200, made.size)) if (piece.length > 0) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(world.archive.bytesRead).toBeLessThanOrEqual(4 * MiB);
  });

  test('that fails in the middle throws after the bytes before it', async () => {
    world = ExportWorld.of(Buffer.alloc(9 * MiB));
    const made = await container();
    const trouble = unavailable('S3 is slow');
    world.calls.failAt(3, 'before', trouble);
    const { bytes, error } = await outcomeOf(made.stream(124, made.size));
    expect([bytes.length, error]).toEqual([3 * MiB, trouble]);
  });
});

test('a failure of the first read comes before the first byte', async () => {
  const made = await container();
  world.calls.failAt(0, 'before', unavailable('S3 is slow'));
  const first = made.stream(0, made.size)[Symbol.asyncIterator]().next();
  await expect(first).rejects.toMatchObject({ code: 'temporarily_unavailable' });
});

test('an archive that contradicts itself in the size of a body is damage', async () => {
  const wrong = { ...(await file()), archiveFileSize: 66_056 };
  await expect(containerOf(wrong, bob.publicKey, world.direct)).rejects.toMatchObject({ code: 'archive_damaged' });
});

test('the header alone is the first bytes of the container, with a tag that the body has no part in', async () => {
  const made = await container();
  const header = headerAlone(made);
  expect(header).toMatchObject({ size: 124, fileName: 'EGAF1-sample.bam.header' });
  expect((await collect(header.stream(0, 124))).equals(await collect(made.stream(0, 124)))).toBe(true);
  expect(await collect(header.stream(8, 12))).toEqual(Buffer.from([1, 0, 0, 0]));
  world.archive.set('bodies/EGAF1', vector('split/body.bin'));
  expect(headerAlone(await container()).etag).toBe(header.etag);
  expect(headerAlone(await container(carol)).etag).not.toBe(header.etag);
});
