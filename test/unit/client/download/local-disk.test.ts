import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { diskError, LocalDiskError, onDisk } from '../../../../lib/client/download/local-disk.ts';
import { PartFile } from '../../../../lib/client/download/part-file.ts';

const systemError = (code: string) => Object.assign(new Error(code), { code, syscall: 'write' });

describe('what the disk refuses is said with what to do', () => {
  test.each([
    ['ENOSPC', /disk .* is full/, /Make room/, true],
    ['EDQUOT', /quota/, /Make room/, true],
    ['EROFS', /read-only/, /--output/, true],
    ['EACCES', /may not write/, /--output/, true],
    ['EPERM', /may not write/, /--output/, true],
    ['ENOENT', /not there any more/, /again/, true],
    ['ENOTDIR', /not a folder/, /--output/, true],
    ['EMFILE', /too many files/, /--parallel/, true],
    ['EISDIR', /is a folder/, /--output/, false],
    ['ELOOP', /symbolic link/, /Remove/, false],
    ['ENAMETOOLONG', /too long/, /--output/, false],
    ['EFBIG', /disk allows/, /file system/, false],
    ['EIO', /answers EIO/, /disk/, false],
  ])('%s', (code, message, remedy, folderWide) => {
    const error = diskError(systemError(code), '/data/a.c4gh.part');
    expect(error).toBeInstanceOf(LocalDiskError);
    expect(error).toMatchObject({
      code: 'local_disk',
      message: expect.stringMatching(message),
      remedy: expect.stringMatching(remedy),
      folderWide,
    });
  });

  test('but no other error becomes one of the disk', async () => {
    const mistake = new TypeError('a mistake');
    await expect(onDisk('/data/a', () => Promise.reject(mistake))).rejects.toBe(mistake);
  });
});

test('a part that is a symbolic link is not written through', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'data-out-part-'));
  try {
    await symlink(join(folder, 'elsewhere'), join(folder, 'a.part'));
    await expect(PartFile.open(join(folder, 'a.part'), 0o666)).rejects.toMatchObject({ code: 'local_disk' });
  } finally {
    await rm(folder, { recursive: true });
  }
});
