import { afterAll, describe, expect, test } from 'vitest';
import { generateKeyPair, headerLength } from '../../../lib/crypt4gh/index.ts';
import { containerOf, containerPart } from '../../../lib/service/direct/container.ts';
import { collect, generatedPlaintext } from '../../helpers/crypt4gh-vectors.ts';
import { applyPlainly } from '../../helpers/edit-lists.ts';
import { ExportWorld } from '../../helpers/export-world.ts';
import { Peer } from './peer.ts';

/** What the direct API makes of files that the Python reference wrote, read by the reference. */
const python = process.env.CRYPT4GH_PYTHON;
if (python === undefined) throw new Error('CRYPT4GH_PYTHON names a Python that has the package crypt4gh');
const peer = new Peer(python);
afterAll(() => peer.close());

const [archive, reader] = [generateKeyPair(), generateKeyPair()];
const plaintext = generatedPlaintext('direct parts', 250_000);

async function archived(lengths?: readonly number[]) {
  const bytes = await peer.ask(lengths ? 'with_edit_list' : 'encrypt', {
    data: plaintext,
    ...(lengths ? { recipient: archive.publicKey, lengths } : { recipients: [archive.publicKey] }),
  });
  const world = new ExportWorld();
  world.archiveKeys = [archive];
  const length = headerLength(bytes) ?? 0;
  world.addFile('EGAF1', bytes.subarray(length));
  const found = world.catalogue.files.get('EGAF1');
  if (!found) throw new Error('no file');
  return { world, file: { ...found, datasetId: 'EGAD1', header: bytes.subarray(0, length) } };
}

const theirDecrypt = (data: Uint8Array) => peer.ask('decrypt', { data, privateKey: reader.privateKey });

/** Plaintext bytes [start, end). */
const coordinates = [
  [0, 1],
  [0, 65_536],
  [1, 65_536],
  [65_535, 65_537],
  [65_536, 131_072],
  [65_536, 65_537],
  [100_000, 200_000],
  [131_072, 250_000],
  [249_999, 250_000],
  [249_999, 1_000_000],
  [0, 250_000],
  [70_000, 70_000],
] as const;

describe('the reference reads', () => {
  test('a whole file for a key of the caller', async () => {
    const { file, world } = await archived();
    const container = await containerOf(file, reader.publicKey, world.direct);
    const read = await theirDecrypt(await collect(container.stream(0, container.size)));
    expect(read.equals(plaintext)).toBe(true);
  });

  test.each(coordinates)('the bytes from %i to %i, and no other', async (start, end) => {
    const { file, world } = await archived();
    const part = await containerPart(file, reader.publicKey, { start, end }, world.direct);
    const read = await theirDecrypt(await collect(part.stream(0, part.size)));
    expect(read.equals(plaintext.subarray(start, end))).toBe(true);
  });

  test.each([
    [[100, 500]],
    [[70_000]],
    [[65_530, 20, 65_536, 70_000]],
    [[10, 20, 200_000]],
    [[1, 131_072, 1, 7]],
    [[200_000, 1_000_000]],
  ])('coordinates in what the edit list %j leaves', async (lengths) => {
    const { file, world } = await archived(lengths);
    const visible = applyPlainly(plaintext, lengths.map(BigInt));
    const half = Math.floor(visible.length / 2);
    for (const [start, end] of [
      [0, visible.length],
      [0, 5],
      [half - 2, half + 2],
      [visible.length - 5, visible.length],
    ] as const) {
      const part = await containerPart(file, reader.publicKey, { start, end }, world.direct);
      const read = await theirDecrypt(await collect(part.stream(0, part.size)));
      expect(read.equals(visible.subarray(start, end))).toBe(true);
    }
  });
});
