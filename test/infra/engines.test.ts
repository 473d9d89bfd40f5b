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

/** Versions as numbers, in their order. */
const version = (major = '0', minor = '0', patch = '0') =>
  (Number(major) * 1000 + Number(minor)) * 1000 + Number(patch);

/** Whether a version is in a range of npm, in the forms that packages use for Node. @throws Error for another form */
function isIn(range: string, given: number): boolean {
  const isMet = (part: string) => {
    if (part === '*') return true;
    const [, operator, major, minor, patch] = /^(>=|<|\^)?(\d+)(?:\.(\d+)|\.x)?(?:\.(\d+)|\.x)?$/.exec(part) ?? [];
    if (major === undefined) throw new Error(`a range in a form that this test does not know: ${part}`);
    const bound = version(major, minor, patch);
    if (operator === '<') return given < bound;
    return given >= bound && (operator === '>=' || given < version(String(Number(major) + 1)));
  };
  const alternatives = range.split('||').map((each) => each.trim().replaceAll(/([<>=^~])\s+/g, '$1'));
  return alternatives.some((each) => each.split(/\s+/).every(isMet));
}

/** Keeps queues over a restart of the engine, with the SQLite of Node 22.5. Its versions for Node 20 lose them. */
const exceptions = ['node_modules/fauxqs >=22.5.0'];

/** What npm warns of (`EBADENGINE`) on this Node: packages that do not promise to run on it. */
function refused(folder: string, node: number): string[] {
  return Object.entries(lockOf(folder)).flatMap(([name, { engines, optional }]) =>
    optional || isIn(engines?.node ?? '*', node) ? [] : [`${name} ${engines?.node}`],
  );
}

describe.each([
  ['.', exceptions],
  ['.ci/browser', []],
  ['.ci/coverage', []],
  ['.ci/type-lint', []],
  ['.ci/openapi-clients', []],
])('the packages of %s', (folder, warned) => {
  test('install on Node 20.19.0, the oldest that package.json names, with no warning but the known ones', () => {
    expect(packageJson.engines.node).toBe('>=20.19');
    expect(refused(folder, version('20', '19'))).toEqual(warned);
  });

  test('run on Node 24.21.0', () => {
    expect(refused(folder, version('24', '21'))).toEqual([]);
  });
});
