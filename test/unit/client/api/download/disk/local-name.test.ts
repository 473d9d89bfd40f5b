import { basename, dirname } from 'node:path';
import { expect, test } from 'vitest';
import { localPaths } from '../../../../../../lib/client/api/download/disk/local-name.ts';

test.each([
  'EGAF00000000001-sample.bam.c4gh',
  'with space.c4gh',
  'name+with%20signs&more.c4gh',
  `${'x'.repeat(250)}.c4gh`,
])('%s is a name', (name) => {
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
  // On Windows alone, but a folder can move there.
  'NUL.c4gh',
  'a:b',
])('%j is refused', (name) => {
  expect(() => localPaths('/folder', name)).toThrow(expect.objectContaining({ code: 'local_disk' }));
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
