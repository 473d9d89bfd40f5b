import { describe, expect, test } from 'vitest';
import { unavailable } from '../../../../lib/errors.ts';
import type { ArchivedFile } from '../../../../lib/service/archive/ports.ts';
import { between, plaintextOf } from '../../../../lib/service/direct/plaintext.ts';
import { collect, generatedPlaintext, outcomeOf } from '../../../helpers/crypt4gh-vectors.ts';
import { ExportWorld, vector, vectorKey } from '../../../helpers/export-world.ts';

/** Of `edit/body.bin`: four segments, the last one of 3,392 bytes. */
const plaintext = generatedPlaintext('vectors/edit-body', 200_000);
const segment = 65_564;

/** A world with the body of the vectors' edit lists under one of their headers. */
function worldWith(changes: Partial<ArchivedFile> = {}, body = vector('edit/body.bin')) {
  const world = new ExportWorld();
  world.addFile('EGAF1', body, 'run 7/sample.bam.c4gh');
  const found = world.catalogue.files.get('EGAF1')!;
  const file = { ...found, datasetId: 'EGAD1', header: vector('edit/plain.header.bin'), ...changes };
  return { world, file, open: () => plaintextOf(file, world.direct) };
}

describe('the plaintext of a file', () => {
  test('has its size, its bytes and the name that the submitter gave', async () => {
    const { open } = worldWith();
    const made = await open();
    expect(made).toMatchObject({ size: 200_000, mediaType: 'application/octet-stream', fileName: 'sample.bam' });
    expect((await collect(made.stream(0, 200_000))).equals(plaintext)).toBe(true);
  });

  test('is opened without a byte of the body', async () => {
    const { world, open } = worldWith();
    await open();
    expect(world.calls.names.toSorted()).toEqual(['archive.head', 'archiveKeys.candidates']);
  });

  test('has a strong entity tag that stays; another header, body or file has another', async () => {
    const { world, open, file } = worldWith();
    const { etag } = await open();
    expect(etag).toMatch(/^"[0-9a-f]{64}"$/);
    expect((await open()).etag).toBe(etag);
    const others = [
      await plaintextOf({ ...file, fileId: 'EGAF2' }, world.direct),
      await plaintextOf({ ...file, header: vector('edit/pos-20-el-single.header.bin') }, world.direct),
    ];
    const archiveFilePath = 'bodies/EGAF2';
    world.archive.set(archiveFilePath, vector('edit/body.bin'));
    others.push(await plaintextOf({ ...file, archiveFilePath }, world.direct));
    expect(new Set([etag, ...others.map((other) => other.etag)]).size).toBe(4);
  });
});

describe('between coordinates', () => {
  test('stand the bytes that the whole has there, as its own representation', async () => {
    const { world, open } = worldWith();
    const whole = await open();
    const part = between({ start: 65_000, end: 66_000 }, whole);
    expect(part).toMatchObject({ size: 1_000, fileName: 'sample.bam' });
    expect((await collect(part.stream(0, 1_000))).equals(plaintext.subarray(65_000, 66_000))).toBe(true);
    expect(world.archive.bytesRead).toBe(2 * segment);
    expect((await collect(part.stream(10, 20))).equals(plaintext.subarray(65_010, 65_020))).toBe(true);
    const tags = [whole, part, between({ start: 65_000, end: 66_001 }, whole)].map(({ etag }) => etag);
    expect(new Set(tags).size).toBe(3);
    expect(between({ start: 65_000, end: 66_000 }, whole).etag).toBe(part.etag);
  });

  test('the end may lie beyond the file: however far, the same', async () => {
    const whole = await worldWith().open();
    const [one, other] = [200_001, Number.MAX_SAFE_INTEGER].map((end) => between({ start: 199_000, end }, whole));
    expect(one?.size).toBe(1_000);
    expect(other?.etag).toBe(one?.etag);
  });
});

describe('an archive that contradicts itself', () => {
  test.each([
    ['another size than the catalogue says', { archiveFileSize: 200_111 }, vector('edit/body.bin')],
    ['an impossible size', { archiveFileSize: segment + 20 }, vector('edit/body.bin').subarray(0, segment + 20)],
    ['a header that is none', { header: Buffer.from('not a header') }, vector('edit/body.bin')],
    ['no body', { archiveFilePath: 'bodies/none' }, vector('edit/body.bin')],
  ])('%s: refused before the first byte', async (_, changes, body) => {
    await expect(worldWith(changes, body).open()).rejects.toMatchObject({ code: 'archive_damaged' });
  });

  test('no archive key opens the header', async () => {
    const { world, open } = worldWith();
    world.archiveKeys = [vectorKey('bob')];
    await expect(open()).rejects.toMatchObject({ code: 'archive_damaged' });
  });

  test('a damaged segment: the bytes before it come, and none of that segment', async () => {
    const damaged = Buffer.from(vector('edit/body.bin'));
    damaged[2 * segment + 100]! ^= 1;
    const made = await worldWith({}, damaged).open();
    const { bytes, error } = await outcomeOf(made.stream(0, 200_000));
    expect(bytes.equals(plaintext.subarray(0, 131_072))).toBe(true);
    expect(error).toMatchObject({ code: 'archive_damaged' });
    expect(error).toMatchObject({ message: expect.stringContaining('segment 2') });
  });

  test('a body replaced after it was opened is not mixed in', async () => {
    const { world, open } = worldWith();
    const made = await open();
    world.archive.set('bodies/EGAF1', vector('edit/body.bin'));
    expect(await outcomeOf(made.stream(0, 10))).toMatchObject({ bytes: Buffer.alloc(0), error: expect.any(Error) });
  });
});

test('a failure of S3 comes through as it is', async () => {
  const { world, open } = worldWith();
  const made = await open();
  const trouble = unavailable('S3 is down');
  world.calls.failAt(0, 'before', trouble);
  expect((await outcomeOf(made.stream(0, 10))).error).toBe(trouble);
});
