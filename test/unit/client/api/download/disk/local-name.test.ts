import { basename, dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { localPaths, NameClashes, nameProblem } from '../../../../../../lib/client/api/download/disk/local-name.ts';

test.each([
  'EGAF00000000001-sample.bam.c4gh',
  'with space.c4gh',
  'name+with%20signs&more.c4gh',
  `${'x'.repeat(250)}.c4gh`,
])('%s is a name', (name) => {
  expect(nameProblem(name, 'linux')).toBeUndefined();
  expect(basename(localPaths('/folder', name).final)).toBe(name);
});

test.each([
  '',
  '..',
  '../up',
  'a/b',
  '/etc/passwd',
  '.bashrc',
  'nul\u0000byte',
  'escape\u001b[2J',
  'right\u202eto-left.c4gh',
  ' leading',
  'lone\ud800surrogate',
  'ü'.repeat(128),
])('%j is refused', (name) => {
  expect(() => localPaths('/folder', name)).toThrow(expect.objectContaining({ code: 'local_disk' }));
});

const windowsOnly = ['con', 'NUL.c4gh', 'Com1.txt', 'conin$', 'CONOUT$.bam', 'Desktop.ini', 'a:b', 'what?', 'end.'];

test.each(windowsOnly)('%s is refused on Windows only', (name) => {
  expect(nameProblem(name, 'win32')).toBeDefined();
  expect(nameProblem(name, 'linux')).toBeUndefined();
});

test('what lies beside a file also fits into a name, and tells two long names apart', () => {
  const names = ['a', 'b'].map((end) => `${'ü'.repeat(125)}${end}`);
  const parts = names.map((name) => localPaths('/folder', name));
  for (const paths of parts) {
    const { final, part, journal, lock } = paths;
    for (const path of [final, part, `${journal}.new`, `${lock}.turn`]) {
      expect(dirname(path)).toBe('/folder');
      expect(Buffer.byteLength(basename(path))).toBeLessThanOrEqual(255);
    }
  }
  expect(parts[0]?.part).not.toBe(parts[1]?.part);
});

describe('names of one run clash', () => {
  test.each([
    ['a.bam', 'a.bam'],
    ['A.bam', 'a.BAM'],
    ['\u00e9.bam', 'e\u0301.bam'],
    ['a', 'a.part'],
    ['a.part.json', 'a'],
  ])('%s and %s', (one, other) => {
    const clashes = new NameClashes();
    clashes.claim(one, localPaths('/folder', one));
    expect(() => clashes.claim(other, localPaths('/folder', other))).toThrow(
      expect.objectContaining({ code: 'local_disk', remedy: expect.stringContaining('folders') }),
    );
  });

  test('but not names that are different', () => {
    const clashes = new NameClashes();
    for (const name of ['a.bam', 'b.bam', 'a.bam.bai']) clashes.claim(name, localPaths('/folder', name));
  });
});
