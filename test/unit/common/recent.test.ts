import { expect, test } from 'vitest';
import { BoundedMap, Recent } from '../../../lib/common/recent.ts';

const bySize = () => new Recent<string>({ most: 10, size: ({ length }) => length });

async function kept(recent: Recent<string>, ...names: readonly string[]): Promise<(string | undefined)[]> {
  return await Promise.all(names.map(async (name) => await recent.peek(name)));
}

test('the entries used longest ago go first, by what they measure', async () => {
  const recent = bySize();
  await recent.set('a', 'AAAA');
  await recent.set('b', 'BBBB');
  expect(await kept(recent, 'a')).toEqual(['AAAA']);
  await recent.set('c', 'CCCC');
  expect(await kept(recent, 'a', 'b', 'c')).toEqual(['AAAA', undefined, 'CCCC']);
  await recent.set('a', 'AAAAAA');
  expect(await kept(recent, 'a', 'c')).toEqual(['AAAAAA', 'CCCC']);
});

test('an entry that is larger than everything that may be kept is given and not kept, and takes no other away', async () => {
  const recent = bySize();
  await recent.set('a', 'A');
  expect(await recent.get('d', async () => 'D'.repeat(11))).toHaveLength(11);
  expect(await kept(recent, 'a', 'd')).toEqual(['A', undefined]);
});

test('those who ask at the same time share one making, and one that fails is made again', async () => {
  const recent = new Recent<number>({ most: 2 });
  let made = 0;
  const make = async () => {
    made += 1;
    if (made === 1) throw new Error('first');
    return made;
  };
  expect(await Promise.allSettled([recent.get('a', make), recent.get('a', make)])).toMatchObject([
    { status: 'rejected' },
    { status: 'rejected' },
  ]);
  expect([await recent.get('a', make), await recent.get('a', make), made]).toEqual([2, 2, 2]);
});

test('an entry lasts its time, by the clock that is given', async () => {
  let now = 0;
  const recent = new Recent<string>({ most: 2, milliseconds: 100, now: () => now });
  await recent.set('a', 'A');
  now = 99;
  expect(await kept(recent, 'a')).toEqual(['A']);
  now = 100;
  expect(await kept(recent, 'a')).toEqual([undefined]);
});

test('a full map forgets all entries for a new one, and none for one that it has', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2);
  expect([...map.set('b', 3)]).toEqual([
    ['a', 1],
    ['b', 3],
  ]);
  expect([...map.set('c', 4)]).toEqual([['c', 4]]);
});
