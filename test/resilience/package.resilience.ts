import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPackage } from '../../bin/build/package.ts';

const root = join(import.meta.dirname, '../..');
const project = mkdtempSync(join(tmpdir(), 'data-out-package-'));
const installed = join(project, 'node_modules/data-out');
/** Where `npm i -g` puts the client. */
const prefix = join(project, 'global');
const npm = (args: readonly string[]) =>
  execFileSync('npm', [...args, '--silent', '--offline', '--cache', join(project, 'empty-cache')], { stdio: 'pipe' });

/** A project elsewhere that has the packed package, made as docs/researchers.md and docs/crypt4gh.md say. */
beforeAll(async () => {
  await buildPackage(join(project, 'package'));
  npm(['pack', join(project, 'package'), '--pack-destination', project]);
  const tarball = join(project, readdirSync(project).find((name) => name.endsWith('.tgz'))!);
  npm(['install', '--global', '--prefix', prefix, tarball]);
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xf', tarball, '-C', installed, '--strip-components=1']);
  mkdirSync(join(project, 'node_modules/@types'));
  symlinkSync(join(root, 'node_modules/@types/node'), join(project, 'node_modules/@types/node'), 'dir');
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(project, 'app.ts'), app);
});
afterAll(() => rmSync(project, { recursive: true }));

/** Uses the parts that are hardest to install: the threads' own file, and a dependency that is loaded on first use. */
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

  test('brings its types, and those of Node, to a strict project that names neither', () => {
    const wrong = "import { decryptedSize } from 'data-out/crypt4gh';\ndecryptedSize('1');\n";
    writeFileSync(join(project, 'wrong.ts'), wrong);
    writeFileSync(join(project, 'threads.ts'), "import 'data-out/crypt4gh/segment-worker';\n");
    const check = (file: string) => {
      const flags = ['--noEmit', '--strict', '--noUncheckedSideEffectImports', '--module', 'nodenext'];
      const tsc = join(root, 'node_modules/typescript/bin/tsc');
      return spawnSync(process.execPath, [tsc, ...flags, file], { cwd: project, encoding: 'utf8' }).stdout;
    };
    expect(check('app.ts')).toBe('');
    expect(check('threads.ts')).toBe('');
    expect(check('wrong.ts')).toMatch(/^wrong\.ts\(2,/);
  });

  test('works in a bundle, with the threads file as its own entry', async () => {
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

  test('needs no other package, and holds nothing of the service', () => {
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    expect(Object.keys(manifest).filter((key) => /dependencies|scripts/i.test(key))).toEqual([]);
    const names = readdirSync(installed, { recursive: true, encoding: 'utf8' });
    const foreign = names.filter((name) => /(^|\/)(lambdas|test|infra|stores|node_modules)(\/|$)/.test(name));
    expect(foreign).toEqual([]);
    expect(names.filter((name) => /(?<!\.d)\.ts$/.test(name))).toEqual([]);
    const client = readFileSync(join(installed, 'bin/client.js'), 'utf8');
    for (const absent of ['@aws-sdk', '@smithy', 'aws-cdk-lib', 'optionalDependencies']) {
      expect(client.includes(absent), absent).toBe(false);
    }
    expect(client.length).toBeLessThan(1_500_000);
  });
});

describe('the client, installed with npm i -g and no network', () => {
  const client = (...args: readonly string[]) =>
    execFileSync(join(prefix, 'bin/data-out'), args, { cwd: project, stdio: ['ignore', 'pipe', 'pipe'] });

  test('brings its man page to where man looks for it', () => {
    expect(readFileSync(join(prefix, 'share/man/man1/data-out.1'), 'utf8')).toContain('\n.SH COMMANDS\n');
  });

  test('encrypts and decrypts on threads', () => {
    const plaintext = randomBytes(9 * 1024 * 1024);
    writeFileSync(join(project, 'sample.bin'), plaintext);
    client('keys', 'generate', 'me', '--no-passphrase');
    client('encrypt', '-r', 'me.pub.pem', 'sample.bin');
    client('decrypt', '--key', 'me.sec.pem', 'sample.bin.c4gh', '-o', 'again.bin');
    expect(readFileSync(join(project, 'again.bin')).equals(plaintext)).toBe(true);
  });

  test.each(['18.20.8', '20.20.2', '21.7.3'])('refuses Node %s in one sentence, and says what to do', (node) => {
    const older = `Object.defineProperty(process, 'versions', { value: { node: '${node}' } })`;
    const argv = ['--import', `data:text/javascript,${older}`, join(installed, 'bin/data-out.js'), '--version'];
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toBe(
      `data-out: needs Node 22 or newer, but this is Node ${node}\n` +
        'Install a newer Node, or use the executable of data-out, which needs none.\n',
    );
    const { engines } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    expect(engines).toEqual({ node: '>=22' });
  });

  test('holds nothing but the client, the library and their pages', () => {
    const folder = join(project, 'package');
    const [{ files }] = JSON.parse(npm(['pack', folder, '--dry-run', '--json']).toString());
    const names = files
      .map(({ path }: { path: string }) => path)
      .filter((path: string) => !/^(crypt4gh|docs)\//.test(path));
    expect(names.sort()).toEqual([
      ...['LICENSE', 'README.md', 'THIRD-PARTY-LICENSES.txt', 'bin/client.js', 'bin/data-out.js', 'bin/package.json'],
      'man/data-out.1',
      'package.json',
    ]);
  });
});
