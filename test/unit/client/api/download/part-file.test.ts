import { mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { PartFile } from '../../../../../lib/client/api/download/part-file.ts';

const folder = await mkdtemp(join(tmpdir(), 'data-out-part-'));
const handle = await open(folder);
const FileHandle = Object.getPrototypeOf(handle);
await handle.close();
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true });
});

test('a disk that fails once while a large file comes: the file does not get its name', async () => {
  const paths = { final: join(folder, 'a'), part: join(folder, 'a.part'), journal: join(folder, 'a.part.json') };
  const content = Buffer.alloc(256 * 1024 * 1024);
  const part = await PartFile.open({ ...paths, lock: `${paths.part}.lock` }, { name: 'a', size: content.length });
  vi.spyOn(FileHandle, 'datasync').mockRejectedValueOnce(new Error('EIO'));
  await part.write(content, 0);
  await expect(part.finish(undefined, { replaces: false })).rejects.toThrow('EIO');
  expect(await readdir(folder)).toEqual(['a.part']);
  await part.close();
});
