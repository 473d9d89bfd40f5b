import { mkdtemp, open, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  diskError,
  LocalDiskError,
  makeFolder,
  onDisk,
} from '../../../../../../lib/client/api/download/disk/local-disk.ts';
import { localPaths } from '../../../../../../lib/client/api/download/disk/local-name.ts';
import { PartFile } from '../../../../../../lib/client/api/download/part-file.ts';

const systemError = (code: string) => Object.assign(new Error(code), { code, syscall: 'write' });

describe('an error of the disk is reported with a remedy', () => {
  test.each([
    ['ENOSPC', /a\.c4gh\.part: the disk is full/, /Make room/, true],
    ['EACCES', /permission denied/, /another/, true],
    ['EISDIR', /is a folder/, /name of a file/, false],
    ['ENOTSUP', /answers ENOTSUP/, /disk/, false],
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

test('a part that another program put there is not written through: the new one is a new file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'data-out-part-'));
  const paths = localPaths(folder, 'a');
  try {
    await writeFile(join(folder, 'elsewhere'), 'theirs');
    await symlink(join(folder, 'elsewhere'), paths.part);
    await (await PartFile.open(paths, { name: 'a', size: 8 })).close();
    await writeFile(paths.part, 'theirs');
    await using theirs = await open(paths.part);
    const part = await PartFile.open(paths, { name: 'a', size: 8 });
    await part.write(Buffer.from('a genome'), 0);
    await part.finish(undefined, { replaces: false });
    expect([await theirs.readFile('utf8'), await readFile(join(folder, 'elsewhere'), 'utf8')]).toEqual([
      'theirs',
      'theirs',
    ]);
    expect(await readFile(paths.final, 'utf8')).toBe('a genome');
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe('a folder is made with those above it', () => {
  let root = '';
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'data-out-folder-'));
    return () => rm(root, { recursive: true });
  });

  test('by several at once', async () => {
    const path = join(root, 'a/b c/ü');
    await Promise.all([makeFolder(path), makeFolder(path), makeFolder(join(root, 'a'))]);
    expect((await stat(path)).isDirectory()).toBe(true);
    await makeFolder(path);
  });

  test('and not through a file, which is named', async () => {
    await writeFile(join(root, 'file'), '');
    await expect(makeFolder(join(root, 'file'))).rejects.toThrow(`${join(root, 'file')}: it exists already`);
    await expect(makeFolder(join(root, 'file/below'))).rejects.toBeInstanceOf(LocalDiskError);
  });

  // Node.js does not come back from mkdir with `recursive` there.
  test.runIf(process.platform === 'linux')('and where none can be made, that is said', async () => {
    await expect(makeFolder('/proc/none/below')).rejects.toBeInstanceOf(LocalDiskError);
  });
});
