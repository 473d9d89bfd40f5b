import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { encryptHeader, encryptSegments } from '../../lib/crypt4gh/index.ts';
import { rangeNotSatisfiable } from '../../lib/errors.ts';
import type { ArchivedFile } from '../../lib/service/archive/ports.ts';
import { containerOf, containerPart } from '../../lib/service/direct/container.ts';
import { collect, generatedPlaintext } from '../helpers/crypt4gh-vectors.ts';
import { applyPlainly, editLists } from '../helpers/edit-lists.ts';
import { ExportWorld, vectorKey } from '../helpers/export-world.ts';
import { readPlainly } from '../helpers/plain-crypt4gh.ts';
import { runs } from '../helpers/runs.ts';

const [alice, bob] = [vectorKey('alice'), vectorKey('bob')];
const dataKey = new Uint8Array(32).fill(7);
const plaintext = generatedPlaintext('direct containers', 200_000);
const segments = 4;
const numRuns = runs(80);

let body: Buffer;
beforeAll(async () => {
  body = await collect(encryptSegments([plaintext], { dataKey }));
});

/** An archived file, under a stored edit list or none. */
function archived(editList: readonly bigint[] | undefined): { file: ArchivedFile; world: ExportWorld } {
  const world = new ExportWorld();
  world.addFile('EGAF1', body);
  const found = world.catalogue.files.get('EGAF1');
  if (!found) throw new Error('no file');
  const list = editList && { editList };
  const header = encryptHeader({ dataKeys: [dataKey], ...list, recipients: [alice.publicKey] });
  return { world, file: { ...found, datasetId: 'EGAD1', header } };
}

const positions = fc.oneof(
  fc.constantFrom(0, 1, 65_535, 65_536, 65_537, 131_072, 196_608, 199_999, 200_000, Number.MAX_SAFE_INTEGER),
  fc.integer({ min: 0, max: 210_000 }),
);
const stored = fc.option(editLists, { nil: undefined });

test('a part is read as exactly the bytes between its coordinates, whatever the stored edit list', async () => {
  const property = fc.asyncProperty(stored, positions, positions, async (list, one, other) => {
    const [start, end] = [Math.min(one, other), Math.max(one, other)];
    const visible = applyPlainly(plaintext, list ?? []);
    const { file, world } = archived(list);
    const made = containerPart(file, bob.publicKey, { start, end }, world.direct);
    if (start >= visible.length) {
      await expect(made).rejects.toEqual(rangeNotSatisfiable(visible.length));
      return;
    }
    const part = await made;
    const bytes = await collect(part.stream(0, part.size));
    expect(bytes.length).toBe(part.size);
    expect(readPlainly(bytes, bob.privateKey).equals(visible.subarray(start, end))).toBe(true);
    // Not more segments than there are, and none without need.
    expect(part.ranges.length).toBeLessThanOrEqual(start === end ? 0 : segments);
  });
  await fc.assert(property, { numRuns: numRuns * 2 });
});

test('any range of a container is those bytes of the whole, and costs no more of the body', async () => {
  const property = fc.asyncProperty(stored, positions, positions, positions, async (list, one, other, from) => {
    const { file, world } = archived(list);
    const { direct } = world;
    const visible = applyPlainly(plaintext, list ?? []).length;
    const coordinates = { start: Math.min(one, other), end: Math.max(one, other) };
    const container =
      coordinates.start < visible
        ? await containerPart(file, bob.publicKey, coordinates, direct)
        : await containerOf(file, bob.publicKey, direct);
    const whole = await collect(container.stream(0, container.size));
    const start = from % container.size;
    const end = Math.min(container.size, start + 70_000);
    world.archive.bytesRead = 0;
    expect((await collect(container.stream(start, end))).equals(whole.subarray(start, end))).toBe(true);
    expect(world.archive.bytesRead).toBe(Math.max(0, end - Math.max(start, container.header.length)));
  });
  await fc.assert(property, { numRuns });
});
