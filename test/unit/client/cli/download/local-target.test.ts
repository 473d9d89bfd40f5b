import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { localTarget } from '../../../../../lib/client/cli/download/local-target.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-target-'));
});
afterAll(() => rm(folder, { recursive: true }));

const names = { name: 'sample.bam', fallback: 'EGAF1' };

test.each([
  [undefined, 'sample.bam'],
  ['.', 'sample.bam'],
  ['other.bam', 'other.bam'],
  ['new/', 'new/sample.bam'],
  ['.hidden', '.hidden'],
  ['ünï cödé.bam', 'ünï cödé.bam'],
])('output %s is the file %s', async (output, expected) => {
  expect((await localTarget(folder, output, names)).final).toBe(join(folder, expected));
});

test.each(['../../etc/passwd', '.bashrc', 'a\u202eb', ''])(
  'a name %j that the service gives is not used',
  async (name) => {
    expect((await localTarget(folder, undefined, { ...names, name })).final).toBe(join(folder, 'EGAF1'));
  },
);

test('an unfinished part is beside the file', async () => {
  const { part, journal } = await localTarget(folder, '.hidden', names);
  expect([part, journal]).toEqual([join(folder, '.hidden.part'), join(folder, '.hidden.part.json')]);
});
