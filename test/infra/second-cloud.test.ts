import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type MigrationsOfTree, squashSince } from '../../.ci/second-cloud/base.ts';
import { unproven } from '../../.ci/second-cloud/not-proven.ts';

const folder = new URL('../../.ci/second-cloud/emulator/gaps/', import.meta.url);
const gaps = readdirSync(folder).flatMap((name) => /^(\w+)\.py$/.exec(name)?.[1] ?? []);

test('every patch names a page of AWS, and a run says what it does not prove', () => {
  expect(gaps.length).toBeGreaterThan(10);
  const sources = gaps.map((name) => readFileSync(new URL(`${name}.py`, folder), 'utf8'));
  expect(sources.filter((text) => !/^"""[^"]+\n\nhttps:\/\/docs\.aws\.amazon\.com\//.test(text))).toEqual([]);
  const names = Object.keys(unproven).filter((name) => /^\w+_\w+$/.test(name));
  expect(names.sort()).toEqual(gaps.sort());
});

describe('an upgrade from the base', () => {
  const tree = (files: Readonly<Record<string, string>>, ...squashes: string[]): MigrationsOfTree => ({
    ...{ files: new Map(Object.entries(files)), squashes },
  });
  const base = tree({ '0001-one.sql': 'a', '0002-two.sql': 'b' }, '2026-01-01: older');

  test('is possible when its migrations exist, unchanged', () => {
    expect(squashSince(base, base)).toBeUndefined();
    expect(
      squashSince(base, tree({ '0001-one.sql': 'a', '0002-two.sql': 'b', '0003-three.sql': 'c' })),
    ).toBeUndefined();
  });

  test('is left out when a commit says that they were squashed', () => {
    const squashed = tree({ '0001-all.sql': 'c' }, '2026-01-01: older', '2026-02-02: newer');
    expect(squashSince(base, squashed)).toBe('2026-02-02: newer');
  });

  test.each([
    ['changed', { '0001-one.sql': 'a', '0002-two.sql': 'c' }],
    ['removed', { '0001-one.sql': 'a' }],
  ])('is refused when one was %s, and nothing says so', (_, files) => {
    expect(() => squashSince(base, tree(files, '2026-01-01: older'))).toThrow(/^0002-two\.sql differ from the base/);
  });
});
