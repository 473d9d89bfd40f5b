import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const project = mkdtempSync(join(tmpdir(), 'crypt4gh-package-'));
const installed = join(project, 'node_modules/data-out');

/** A project elsewhere that has the packed package and what it depends on, as an installation without network would. */
beforeAll(() => {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', project], { cwd: root, stdio: 'pipe' });
  const tarball = readdirSync(project).find((name) => name.endsWith('.tgz'))!;
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xf', join(project, tarball), '-C', installed, '--strip-components=1']);
  for (const dependency of ['bcrypt-pbkdf', '@types/node']) {
    mkdirSync(join(project, 'node_modules', dependency, '..'), { recursive: true });
    symlinkSync(join(root, 'node_modules', dependency), join(project, 'node_modules', dependency), 'dir');
  }
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(project, 'app.ts'), app);
});
afterAll(() => rmSync(project, { recursive: true }));

/** Uses what is hardest to install: the threads' own file, and a dependency loaded on first use. */
const app = `
import { decrypt, encrypt, formatPrivateKey, generateKeyPair, parsePrivateKey, SegmentWorkers } from 'data-out/crypt4gh';
const { privateKey, publicKey } = generateKeyPair();
const text = await formatPrivateKey(privateKey, { passphrase: 'x', kdf: 'bcrypt' });
const privateKeys: Uint8Array[] = [await parsePrivateKey(text, 'x')];
await using workers = new SegmentWorkers({ threads: 2, batchSegments: 1 });
const container = encrypt([Buffer.alloc(200_000, 7)], { recipients: [publicKey], workers });
const sizes: number[] = [];
for await (const piece of decrypt(container, { privateKeys, workers })) sizes.push(piece.length);
console.log(JSON.stringify(sizes));
`;
const output = '[65536,65536,65536,3392]\n';

function run(path: string): string {
  return execFileSync(process.execPath, [path], { cwd: project, encoding: 'utf8' });
}

describe('the packed package', () => {
  test('is imported by another project as data-out/crypt4gh', () => {
    expect(run(join(project, 'app.ts'))).toBe(output);
  });

  test('brings its types', () => {
    const wrong = "import { encryptedRange } from 'data-out/crypt4gh';\nencryptedRange({ start: 0, end: 1 });\n";
    writeFileSync(join(project, 'wrong.ts'), wrong);
    const check = (file: string) => {
      const flags = ['--noEmit', '--strict', '--target', 'es2024', '--module', 'nodenext', '--types', 'node'];
      const tsc = join(root, 'node_modules/typescript/bin/tsc');
      const options = { cwd: project, encoding: 'utf8' } as const;
      return spawnSync(process.execPath, [tsc, ...flags, '--lib', 'es2024,esnext.disposable', file], options).stdout;
    };
    expect(check('app.ts')).toBe('');
    expect(check('wrong.ts')).toMatch(/^wrong\.ts\(2,/);
  });

  test('works in a bundle, with the threads file as an entry of its own', async () => {
    await build({
      absWorkingDir: project,
      entryPoints: { app: 'app.ts', 'segment-worker': 'data-out/crypt4gh/segment-worker' },
      outdir: join(project, 'bundle'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node24',
      banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    });
    expect(run(join(project, 'bundle/app.js'))).toBe(output);
  });

  test('has the library alone: no other part of this project, no TypeScript', () => {
    const names = readdirSync(installed, { recursive: true, encoding: 'utf8' });
    const foreign = names.filter((name) => /(^|\/)(lambdas|test|infra|stores)(\/|$)/.test(name));
    expect(foreign).toEqual([]);
    const sources = names.filter((name) => name.startsWith('dist') && /(?<!\.d)\.ts$/.test(name));
    expect(sources).toEqual([]);
  });
});
