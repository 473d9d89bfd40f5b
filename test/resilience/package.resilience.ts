import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
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

/** A project elsewhere that has the packed package, made as docs/researchers.md, docs/crypt4gh.md and docs/releasing.md say. */
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

  test('is also found as a path, by tools that do not read "exports"', () => {
    const { resolve } = createRequire(import.meta.url);
    for (const [name, file] of [
      ['crypt4gh', 'crypt4gh/index.js'],
      ['crypt4gh/segment-worker', 'crypt4gh/segment-worker.js'],
    ] as const) {
      expect(resolve(join(installed, name))).toBe(join(installed, file));
      expect(createRequire(join(project, 'app.ts')).resolve(`data-out/${name}`)).toBe(join(installed, file));
    }
    const threads = `new SegmentWorkers({ workerUrl: new URL(import.meta.resolve('data-out/crypt4gh/segment-worker')), `;
    writeFileSync(join(project, 'by-name.ts'), app.replace('new SegmentWorkers({ ', threads));
    expect(run(join(project, 'by-name.ts'))).toBe(output);
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

  test('brings the licences of what is bundled', () => {
    const licences = readFileSync(join(installed, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    for (const name of ['commander', 'undici', 'smol-toml', '@clack/core', 'bcrypt-pbkdf', 'tweetnacl', 'hash-wasm']) {
      expect(licences).toContain(`\n${name} `);
    }
    expect(licences).not.toContain('@aws-sdk');
  });
});

describe('the client, installed with npm i -g and no network', () => {
  const client = (...args: readonly string[]) =>
    execFileSync(join(prefix, 'bin/data-out'), args, { cwd: project, stdio: ['ignore', 'pipe', 'pipe'] });

  test('is the version of this tree', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(client('--version').toString()).toBe(`${version}\n`);
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

  test('keeps its compiled code where no one else can write, and nowhere else', () => {
    const bin = join(prefix, 'lib/node_modules/data-out/bin');
    const compiled = join(bin, '.compiled');
    const kept = () => {
      // The test's own environment names a folder for compiled code.
      execFileSync(join(prefix, 'bin/data-out'), ['--version'], { env: { PATH: process.env.PATH } });
      if (!existsSync(compiled)) return undefined;
      return readdirSync(compiled, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    };
    chmodSync(bin, 0o755);
    expect(kept()).not.toHaveLength(0);
    expect(statSync(compiled).mode & 0o777).toBe(0o700);

    rmSync(compiled, { recursive: true });
    for (const mode of [0o775, 0o757]) {
      chmodSync(bin, mode);
      expect(kept()).toBeUndefined();
    }
    chmodSync(bin, 0o755);
    // As with sudo, which only root can try.
    if (process.getuid?.() === 0) {
      chownSync(bin, 65534, 65534);
      expect(kept()).toBeUndefined();
      chownSync(bin, 0, 0);
    }
    mkdirSync(compiled);
    for (const mode of [0o770, 0o707]) {
      chmodSync(compiled, mode);
      expect(kept()).toEqual([]);
    }
    rmSync(compiled, { recursive: true });
    const elsewhere = mkdtempSync(join(project, 'elsewhere-'));
    symlinkSync(elsewhere, compiled);
    expect(kept()).toEqual([]);
  });

  /** Runs the client. @returns what it reported, and those modules of Node.js that it loaded, of the ones that load slowly */
  function loaded(line: string, options: Parameters<typeof spawnSync>[2]) {
    const slow = ['child_process', 'crypto', 'readline', 'tls', 'worker_threads', 'zlib'];
    const report = `process.on('exit', () => {
      const loaded = process.moduleLoadList.map((name) => name.replace('NativeModule ', ''));
      process.stderr.write(JSON.stringify(${JSON.stringify(slow)}.filter((name) => loaded.includes(name))));
    })`;
    const argv = ['--import', `data:text/javascript,${report}`, join(installed, 'bin/data-out.js'), '--quiet'];
    const env = { DATA_OUT_VISA: 'a.b.c', HOME: project };
    const run = spawnSync(process.execPath, [...argv, ...line.split(' ')], { cwd: project, env, ...options });
    const [, said, modules = ''] = /^(.*)(\[.*\])$/s.exec(run.stderr.toString()) ?? [];
    return { said, modules: JSON.parse(modules) as readonly string[], output: run.stdout };
  }

  test.each([
    ['--version', [], ''],
    ['download --all --url http://127.0.0.1:9/', [], 'ECONNREFUSED'],
    ['keys generate other --no-passphrase', ['crypto'], ''],
  ])('%s loads only the modules of Node.js that it uses', (line, used, expected) => {
    const { said, modules } = loaded(line, {});
    expect(said).toContain(expected);
    expect(modules).toEqual(used);
  });

  test('decrypts on threads if there are processors for them, of which a pipe leaves fewer', () => {
    const plaintext = randomBytes(9 * 1024 * 1024);
    client('keys', 'generate', 'piping', '--no-passphrase');
    const container = execFileSync(join(prefix, 'bin/data-out'), ['encrypt', '-r', 'piping.pub.pem'], {
      ...{ cwd: project, input: plaintext, maxBuffer: 2 * plaintext.length },
    });
    writeFileSync(join(project, 'piped.c4gh'), container);
    const read = (stdin: object) => {
      const run = loaded('decrypt --key piping.sec.pem -', { maxBuffer: 2 * plaintext.length, ...stdin });
      expect(plaintext.equals(Buffer.from(run.output))).toBe(true);
      return run.modules;
    };
    const file = openSync(join(project, 'piped.c4gh'), 'r');
    const withThreads = (least: number) => ['crypto', ...(availableParallelism() >= least ? ['worker_threads'] : [])];
    expect(read({ input: container })).toEqual(withThreads(3));
    expect(read({ stdio: [file, 'pipe', 'pipe'] })).toEqual(withThreads(2));
    closeSync(file);
  });

  test('is packed without compiled code', () => {
    const folder = join(project, 'package');
    mkdirSync(join(folder, 'bin/.compiled'), { recursive: true });
    writeFileSync(join(folder, 'bin/.compiled/code'), '');
    const [{ files }] = JSON.parse(npm(['pack', folder, '--dry-run', '--json']).toString());
    const names = files
      .map(({ path }: { path: string }) => path)
      .filter((path: string) => !/^(crypt4gh|docs)\//.test(path));
    expect(names.sort()).toEqual([
      ...['LICENSE', 'README.md', 'THIRD-PARTY-LICENSES.txt', 'bin/client.js', 'bin/data-out.js', 'bin/package.json'],
      'package.json',
    ]);
  });

  test('loads its HTTP client when it is needed', () => {
    // A forward proxy at a closed port, and TLS authorities: settings of the HTTP client.
    const env = { ...process.env, DATA_OUT_VISA: 'a.b.c', HTTPS_PROXY: 'http://127.0.0.1:9/' };
    const args = ['list', '--url', 'https://localhost:9/', '--ca', join(project, 'package.json')];
    const { status, stderr } = spawnSync(join(prefix, 'bin/data-out'), args, { env, encoding: 'utf8' });
    expect({ status, stderr }).toMatchObject({ status: 7, stderr: expect.stringContaining('ECONNREFUSED') });
  });
});
