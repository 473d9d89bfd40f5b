import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve, sep } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { makeFoldersIn } from '../../../../../lib/client/api/download/disk/local-disk.ts';
import { originalPath } from '../../../../../lib/client/api/download/disk/local-name.ts';

describe('where a file lies under its submitted path', () => {
  test.each([
    ['study/sample.bam', 'study/sample.bam.c4gh'],
    ['study/sample.bam.bai.c4gh', 'study/sample.bam.bai.c4gh'],
    ['/absolute//./path.vcf', 'absolute/path.vcf.c4gh'],
    ['../../etc/passwd', '__/__/etc/passwd.c4gh'],
    ['C:\\data\\x.bam', 'C_/data/x.bam.c4gh'],
    ['con/nul.txt', '_con/_nul.txt.c4gh'],
    ['.ssh/authorized_keys', '_ssh/authorized_keys.c4gh'],
    ['a/EGAD1-x.delivery.jws', 'a/EGAD1-x.delivery.jws.c4gh'],
    ['patient 1 🧬.vcf', 'patient 1 🧬.vcf.c4gh'],
  ])('%s', (submitted, container) => {
    expect(originalPath(submitted)?.join('/')).toBe(container);
  });

  test.each(['', '/', './', '\\'])('%j has no name', (submitted) => {
    expect(originalPath(submitted)).toBeUndefined();
  });

  test('is in the folder, whatever the submitter wrote', () => {
    const piece = fc.constantFrom('..', '.', '/', '\\', 'a', ' ', 'C:', '\u0000', '\u202e', 'nul', '.c4gh', '~');
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: piece }), fc.string({ unit: 'binary' })), (submitted) => {
        const names = originalPath(submitted) ?? ['none'];
        expect(resolve('/folder', ...names).startsWith(`${sep}folder${sep}`)).toBe(true);
        for (const name of names) expect(name).not.toMatch(/^\.|[/\\\p{Cc}]/u);
      }),
    );
  });
});

test('folders are made through no link and over no file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'data-out-folders-'));
  try {
    await mkdir(join(folder, 'elsewhere'));
    await symlink(join(folder, 'elsewhere'), join(folder, 'link'));
    await writeFile(join(folder, 'file'), '');
    expect(await makeFoldersIn(folder, ['a', 'b'])).toBe(join(folder, 'a', 'b'));
    expect(await makeFoldersIn(folder, ['a', 'c'])).toBe(join(folder, 'a', 'c'));
    for (const [name, what] of [
      ['link', 'a symbolic link'],
      ['file', 'a file'],
    ] as const) {
      const error = { code: 'local_disk', folderWide: false, message: expect.stringContaining(what) };
      await expect(makeFoldersIn(folder, [name, 'x'])).rejects.toMatchObject(error);
    }
    expect(await readdir(join(folder, 'elsewhere'))).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
