import { beforeEach, expect, test } from 'vitest';
import { slice } from '../../../../lib/service/http/pages.ts';
import { findFile } from '../../../../lib/service/outbox/grant-download.ts';
import { mergedListing } from '../../../../lib/service/outbox/list-files.ts';
import { FakeOutboxReader } from '../../../helpers/fake-outbox-reader.ts';

const first = { prefix: 'a'.repeat(64), sub: 'first' };
const second = { prefix: 'b'.repeat(64), sub: 'second' };
const third = { prefix: 'c'.repeat(64), sub: 'third' };

let outbox: FakeOutboxReader;
beforeEach(() => {
  outbox = new FakeOutboxReader();
});

const numbered = (count: number, prefix = '') =>
  Array.from({ length: count }, (_, index) => ({ name: `${prefix}${String(index).padStart(6, '0')}.c4gh` }));

async function collect<T>(batches: AsyncIterable<readonly T[]>): Promise<T[]> {
  const rows: T[] = [];
  for await (const batch of batches) rows.push(...batch);
  return rows;
}

test('a batch is handed on before the next S3 page is asked for', async () => {
  outbox.stage(first.prefix, ...numbered(2500));
  const sizes: number[] = [];
  for await (const batch of mergedListing(outbox, [first])) {
    sizes.push(batch.length);
    expect(outbox.pagesRead).toBe(sizes.length);
  }
  expect(sizes).toEqual([1000, 1000, 500]);
});

test('several recipients are merged in name order, a name once and the first recipient’s', async () => {
  outbox.stage(first.prefix, { name: 'a' }, { name: 'c' }, { name: 'e', size: 1 });
  outbox.stage(second.prefix, { name: 'B' }, { name: 'd' }, { name: 'e', size: 2 }, { name: 'f' });
  const rows = await collect(mergedListing(outbox, [first, second, third]));
  expect(rows.map(({ name, owner, size }) => `${name} ${owner} ${size}`)).toEqual([
    'B second 1',
    'a first 1',
    'c first 1',
    'd second 1',
    'e first 1',
    'f second 1',
  ]);
  expect(await findFile(outbox, [first, second, third], 'e')).toMatchObject({
    prefix: first.prefix,
    file: { size: 1 },
  });
  expect(await findFile(outbox, [third, second], 'e')).toMatchObject({ prefix: second.prefix, file: { size: 2 } });
  expect(await findFile(outbox, [third], 'e')).toBeUndefined();
});

test('no S3 page is read beyond the rows that are wanted, and the listing is closed', async () => {
  outbox.stage(first.prefix, ...numbered(5000));
  await collect(slice(mergedListing(outbox, [first]), 1000, 1000));
  expect(outbox.pagesRead).toBe(2);
  expect(outbox.openListings).toBe(0);
});
