import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatConfigFile, readConfigFile } from '../../../../lib/client/cli/config-file.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-config-'));
});
afterAll(() => rm(folder, { recursive: true }));

test.each([
  ['of Windows', 'C:\\Users\\jane\\new visa.jwt', '"C:\\\\Users\\\\jane\\\\new visa.jwt"'],
  ['on a share of Windows', '\\\\server\\share\\visa.jwt', '"\\\\\\\\server\\\\share\\\\visa.jwt"'],
  ['with an emoji', '/home/jané/😀.jwt', '"/home/jané/😀.jwt"'],
  ['with a quotation mark', '/home/a "b"/visa', '"/home/a \\"b\\"/visa"'],
  ['with a line break', '/home/a\nb', '"/home/a\\nb"'],
])('a path %s comes back as it was', async (_what, path, written) => {
  const text = formatConfigFile({ visa_file: path });
  expect(text).toContain(`visa_file = ${written}\n`);
  await writeFile(join(folder, 'config.toml'), text);
  expect(await readConfigFile(join(folder, 'config.toml'), true)).toEqual({ visa_file: path });
});
