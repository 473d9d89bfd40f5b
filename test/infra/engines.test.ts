import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };

interface Locked {
  readonly engines?: { readonly node?: string };
  readonly optional?: boolean;
}

const root = join(import.meta.dirname, '../..');
const lockOf = (folder: string): Readonly<Record<string, Locked>> =>
  JSON.parse(readFileSync(join(root, folder, 'package-lock.json'), 'utf8')).packages;

type Version = readonly [number, number, number];

function compare(one: Version, other: Version): number {
  return one[0] - other[0] || one[1] - other[1] || one[2] - other[2];
}

/** Whether a version is in a range of npm, in the forms that packages use for Node. @throws Error for another form */
function isIn(range: string, version: Version): boolean {
  return range.split('||').some((alternative) => {
    const parts = alternative
      .trim()
      .replaceAll(/([<>=^~])\s+/g, '$1')
      .split(/\s+/);
    return parts.every((part) => {
      const [, operator = '', major, minor, patch] = /^(>=|<|\^)?(\d+)(?:\.(\d+|x))?(?:\.(\d+))?$/.exec(part) ?? [];
      if (part === '*') return true;
      if (major === undefined) throw new Error(`a range in a form that this test does not know: ${part}`);
      const bound: Version = [Number(major), Number(minor === 'x' ? 0 : (minor ?? 0)), Number(patch ?? 0)];
      if (operator === '>=') return compare(version, bound) >= 0;
      if (operator === '<') return compare(version, bound) < 0;
      return version[0] === bound[0] && compare(version, bound) >= 0;
    });
  });
}

/** Keeps queues over a restart of the engine, with the SQLite of Node 22.5. Its versions for Node 20 lose them. */
const exceptions = ['node_modules/fauxqs >=22.5.0'];

/** What npm warns of (`EBADENGINE`) on this Node: packages that do not promise to run on it. */
function refused(folder: string, version: Version): string[] {
  return Object.entries(lockOf(folder)).flatMap(([name, { engines, optional }]) =>
    optional || isIn(engines?.node ?? '*', version) ? [] : [`${name} ${engines?.node}`],
  );
}

describe.each([
  ['.', exceptions],
  ['.ci/browser', []],
  ['.ci/coverage', []],
  ['.ci/type-lint', []],
  ['.ci/openapi-clients', []],
])('the packages of %s', (folder, warned) => {
  test('install on Node 20.19.0, with no warning but the known ones', () => {
    expect(refused(folder, [20, 19, 0])).toEqual(warned);
  });

  test('run on Node 24.21.0', () => {
    expect(refused(folder, [24, 21, 0])).toEqual([]);
  });
});

test('the oldest Node that installs the project is the one that package.json names', () => {
  expect(packageJson.engines.node).toBe('>=20.19');
});
