import { expect, test } from 'vitest';
import { Locations } from '../../../../../../lib/client/api/download/remote/locations.ts';
import { ClientError, UnavailableError } from '../../../../../../lib/client/api/errors.ts';
import type { Location } from '../../../../../../lib/client/api/proxy.ts';

const names = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `file-${from + index}`);

/** A source of addresses, and what it was asked for: a name, or several at once. */
function world(options: { lifetimeMs?: number; missing?: string; failures?: (Error | undefined)[] } = {}) {
  const asked: (string | readonly string[])[] = [];
  const { lifetimeMs = 900_000, missing, failures = [] } = options;
  const address = (name: string, life: number): Location => {
    return { url: new URL(`https://storage.example/${name}`), expiresAt: new Date(), lifetimeMs: life, size: 1 };
  };
  const locations = new Locations({
    async location(name) {
      asked.push(name);
      return address(name, 900_000);
    },
    async locations(wanted) {
      asked.push(wanted);
      const failure = failures.shift();
      if (failure) throw failure;
      const found = wanted.filter((name) => name !== missing);
      return new Map(found.map((name) => [name, address(name, lifetimeMs)]));
    },
  });
  const prepare = (wanted: readonly string[]) => {
    for (const name of wanted) locations.prepare(name, undefined);
  };
  const get = async (name: string) => (await locations.get(name, undefined)).url.pathname.slice(1);
  return { asked, prepare, get, locations };
}

test('the addresses of files that come next are asked for together, once the first of them is needed', async () => {
  const { asked, prepare, get } = world();
  prepare(names(0, 3));
  expect(asked).toEqual([]);
  expect(await Promise.all(names(0, 3).map(get))).toEqual(names(0, 3));
  expect(asked).toEqual([names(0, 3)]);
});

test('at most 100 of them at once', async () => {
  const { asked, prepare, get } = world();
  prepare(names(0, 230));
  await get('file-0');
  expect(asked).toEqual([names(0, 100), names(100, 200)]);
});

test('the next ones before those at hand are used up', async () => {
  const { asked, prepare, get } = world();
  prepare(names(0, 10));
  for (const index of [0, 1, 2, 3]) {
    await get(`file-${index}`);
    prepare([`file-${10 + index}`]);
  }
  expect(asked).toHaveLength(1);
  await get('file-4');
  prepare(['file-14']);
  await get('file-5');
  expect(asked).toEqual([names(0, 10), names(10, 15)]);
});

test('one alone is asked for as a file is', async () => {
  const { asked, prepare, get } = world();
  prepare(['file-0']);
  expect([await get('file-0'), await get('file-1')]).toEqual(['file-0', 'file-1']);
  expect(asked).toEqual(['file-0', 'file-1']);
});

test('a file that is missing in the reply, or whose address is too old, is asked for alone', async () => {
  for (const options of [{ missing: 'file-1' }, { lifetimeMs: 0 }]) {
    const { asked, prepare, get } = world(options);
    prepare(names(0, 2));
    expect(await get('file-1')).toBe('file-1');
    expect(asked).toEqual([names(0, 2), 'file-1']);
  }
});

test.each(['usage', 'forbidden', 'not_found', 'protocol', 'not_verified'] as const)(
  'after an answer that is %s, each is asked for alone, when it is needed',
  async (code) => {
    const { asked, prepare, get, locations } = world({ failures: [new ClientError(code, 'there is no such path')] });
    prepare(names(0, 2));
    expect(await Promise.all(names(0, 2).map(get))).toEqual(names(0, 2));
    expect(locations.givesMany).toBe(false);
    prepare(names(2, 4));
    expect(asked).toEqual([names(0, 2), 'file-0', 'file-1']);
    expect(await Promise.all(names(2, 4).map(get))).toEqual(names(2, 4));
    expect(asked.slice(3)).toEqual(names(2, 4));
  },
);

test('after a failure that may pass, each of the files is asked for alone, when it is needed; after two in a row, all files', async () => {
  const unavailable = new UnavailableError('status 500');
  const { asked, prepare, get, locations } = world({ failures: [unavailable, undefined, unavailable, unavailable] });
  for (const at of [0, 2, 4, 6]) {
    expect(locations.givesMany).toBe(true);
    prepare(names(at, at + 2));
    expect(await get(`file-${at}`)).toBe(`file-${at}`);
    const isFailed = at !== 2;
    expect(asked).not.toContain(`file-${at + 1}`);
    expect(await get(`file-${at + 1}`)).toBe(`file-${at + 1}`);
    expect(asked.includes(`file-${at + 1}`)).toBe(isFailed);
  }
  expect(locations.givesMany).toBe(false);
});

test.each(['unauthenticated', 'interrupted'] as const)('every file fails with an error that is %s', async (code) => {
  const failure = new ClientError(code, 'the visa has expired');
  const { asked, prepare, get } = world({ failures: [failure] });
  prepare(names(0, 2));
  for (const name of names(0, 2)) await expect(get(name)).rejects.toBe(failure);
  expect(asked).toEqual([names(0, 2)]);
});
