import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, expect, test } from 'vitest';
import { keyVector } from '../../helpers/crypt4gh-vectors.ts';

const directory = mkdtempSync(join(tmpdir(), 'crypt4gh-bundle-'));
afterAll(() => rmSync(directory, { recursive: true }));

test('a bundle as the functions are made of reads a key protected by bcrypt, whose library is CommonJS', async () => {
  const outfile = join(directory, 'index.mjs');
  await build({
    stdin: {
      contents: `
        import { readFileSync } from 'node:fs';
        import { parsePrivateKey } from './lib/crypt4gh/index.ts';
        const key = await parsePrivateKey(readFileSync(process.argv[2]), process.argv[3]);
        process.stdout.write(Buffer.from(key).toString('hex'));`,
      resolveDir: fileURLToPath(new URL('../../../', import.meta.url)),
      loader: 'ts',
    },
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
  });
  const key = keyVector('ssh_aes256ctr');
  const path = fileURLToPath(new URL(`../../vectors/${key.private}`, import.meta.url));
  const output = execFileSync(process.execPath, [outfile, path, key.passphrase!], { cwd: directory });
  expect(output.toString()).toBe(key.private_key_hex);
  expect(readFileSync(outfile).length).toBeLessThan(100_000);
});
