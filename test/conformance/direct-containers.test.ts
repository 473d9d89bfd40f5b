import { describe, expect, test } from 'vitest';
import { headerLength, publicKeyOf } from '../../lib/crypt4gh/index.ts';
import type { ArchivedFile } from '../../lib/service/archive/ports.ts';
import { containerOf, containerPart } from '../../lib/service/direct/container.ts';
import { collect, manifest, privateKeyOf, sha256, containerOf as vectorBytes } from '../helpers/crypt4gh-vectors.ts';
import { ExportWorld, vectorKey } from '../helpers/export-world.ts';
import { readPlainly } from '../helpers/plain-crypt4gh.ts';

/**
 * Containers of other implementations as archived files. A reader that shares nothing with the library reads the
 * results of direct access, which are compared with sums that those implementations gave.
 */
const bob = vectorKey('bob');

async function archived(id: string): Promise<{ readonly file: ArchivedFile; readonly world: ExportWorld }> {
  const vector = manifest.vectors.find((candidate) => candidate.id === id);
  if (!vector) throw new Error(`no vector ${id}`);
  const bytes = vectorBytes(vector);
  const length = headerLength(bytes) ?? 0;
  const world = new ExportWorld();
  const privateKey = await privateKeyOf(vector.readers[0] ?? '');
  world.archiveKeys = [{ privateKey, publicKey: publicKeyOf(privateKey) }];
  world.addFile(id, bytes.subarray(length));
  const found = world.catalogue.files.get(id);
  if (!found) throw new Error('no file');
  return { world, file: { ...found, datasetId: 'EGAD1', header: bytes.subarray(0, length) } };
}

const readable = manifest.vectors.filter(
  ({ group, expected }) => (group === 'positive' || group === 'peer') && expected.outcome === 'plaintext',
);

describe('a whole file', () => {
  test.each(readable.map((vector) => [vector.id, vector] as const))('%s', async (id, { expected }) => {
    const { file, world } = await archived(id);
    const container = await containerOf(file, bob.publicKey, world.direct);
    const bytes = await collect(container.stream(0, container.size));
    const plaintext = readPlainly(bytes, bob.privateKey);
    expect([plaintext.length, sha256(plaintext)]).toEqual([expected.length, expected.sha256]);
  });

  test('covers many vectors', () => {
    expect(readable.length).toBeGreaterThan(50);
  });
});

describe('a part of a file', () => {
  const checks = manifest.range_checks.filter(({ output_length: length }) => length > 0);

  test.each(checks)('$vector from $start, $length bytes', async (check) => {
    const { file, world } = await archived(check.vector);
    const end = check.start + check.length;
    const part = await containerPart(file, bob.publicKey, { start: check.start, end }, world.direct);
    const plaintext = readPlainly(await collect(part.stream(0, part.size)), bob.privateKey);
    expect([plaintext.length, sha256(plaintext)]).toEqual([check.output_length, check.sha256]);
    const [range, ...others] = part.ranges;
    expect(others).toEqual([]);
    expect(range?.start).toBe(check.first_segment * 65_564);
    expect(range?.end).toBe(Math.min((check.last_segment + 1) * 65_564, file.archiveFileSize));
  });

  test('was asked for in ten ways', () => {
    expect(checks).toHaveLength(10);
  });
});
