import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { encrypt, formatPrivateKey, formatPublicKey, generateKeyPair } from '../../../../../lib/crypt4gh/index.ts';
import { runCli, terminalOf } from '../../../../helpers/cli-run.ts';
import { collect } from '../../../../helpers/crypt4gh-vectors.ts';
import { inputOf } from '../../../../helpers/ops-world.ts';

const me = generateKeyPair();
const plaintext = Buffer.alloc(150_000, 'abc');
let folder: string;
let container: Buffer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-files-'));
  container = Buffer.from(await collect(encrypt([plaintext], { recipients: [me.publicKey] })));
  await writeFile(join(folder, 'me.sec.pem'), await formatPrivateKey(me.privateKey), { mode: 0o600 });
  await writeFile(join(folder, 'me.pub.pem'), formatPublicKey(me.publicKey));
  await writeFile(join(folder, 'sample.bam'), plaintext);
  await writeFile(join(folder, 'mine.c4gh'), container);
});
afterAll(() => rm(folder, { recursive: true }));

describe('a failed command says why, and leaves no file', () => {
  test.each([
    ['no recipient', ['encrypt', 'sample.bam'], 2, '--recipient'],
    ['no such recipient', ['encrypt', '-r', 'missing.pem', 'sample.bam'], 4, 'missing.pem'],
    ['a private key as recipient', ['encrypt', '-r', 'me.sec.pem', 'sample.bam'], 2, 'me.sec.pem'],
    ['a very large key file', ['encrypt', '-r', '/dev/zero', 'sample.bam'], 2, 'too large'],
    ['no such file', ['encrypt', '-r', 'me.pub.pem', 'missing'], 4, 'missing'],
    ['a folder', ['encrypt', '-r', 'me.pub.pem', '.'], 2, 'folder'],
    ['a folder as output', ['encrypt', '-r', 'me.pub.pem', '-o', '.', 'sample.bam'], 2, 'folder'],
    ['no such folder', ['encrypt', '-r', 'me.pub.pem', '-o', 'no/where', 'sample.bam'], 6, 'mkdir'],
    ['a file as folder', ['encrypt', '-r', 'me.pub.pem', '-o', 'sample.bam/x', 'sample.bam'], 6, 'not a folder'],
    ['an unknown option', ['encrypt', '--recipent', 'me.pub.pem'], 2, 'Did you mean --recipient?'],
    ['an unknown command', ['encypt'], 2, 'Did you mean encrypt?'],
    ['no key', ['decrypt', 'mine.c4gh'], 2, '--key'],
    ['no such key', ['decrypt', '--key', 'missing.pem', 'mine.c4gh'], 4, 'missing.pem'],
    ['a public key as key', ['decrypt', '--key', 'me.pub.pem', 'mine.c4gh'], 2, 'me.pub.pem'],
    ['no name for the output', ['decrypt', '--key', 'me.sec.pem', 'sample.bam'], 2, '--output'],
    ['no container', ['inspect', 'sample.bam'], 8, 'not a Crypt4GH'],
  ] as const)('%s', async (_what, argv, code, named) => {
    const before = await readdir(folder);
    const { exitCode, stdout, stderr } = await runCli(argv, { folder });
    expect({ exitCode, stderr }).toMatchObject({ exitCode: code, stderr: expect.stringContaining(named) });
    expect(stdout.length).toBe(0);
    expect(await readdir(folder)).toEqual(before);
  });
});

describe('no output replaces what the command reads, or a private key, even with --force', () => {
  test.each([
    ['the input', ['encrypt', '-r', 'me.pub.pem', '-o', 'sample.bam', 'sample.bam']],
    ['the input, by a link', ['encrypt', '-r', 'me.pub.pem', '-o', 'linked', 'sample.bam']],
    ["a reader's key", ['encrypt', '-r', 'me.pub.pem', '-o', 'me.pub.pem', 'sample.bam']],
    ["the writer's key", ['encrypt', '-r', 'me.pub.pem', '--key', 'me.sec.pem', '-o', 'me.sec.pem', 'sample.bam']],
    ['a key that it does not read', ['encrypt', '-r', 'me.pub.pem', '-o', 'me.sec.pem', 'sample.bam']],
    ['the container', ['reencrypt', '-r', 'me.pub.pem', '--key', 'me.sec.pem', '-o', 'mine.c4gh', 'mine.c4gh']],
    ['the key', ['reencrypt', '-r', 'me.pub.pem', '--key', 'me.sec.pem', '-o', 'me.sec.pem', 'mine.c4gh']],
    ['another key', ['decrypt', '--key', 'me.sec.pem', '-o', 'other.sec.pem', 'mine.c4gh']],
  ])('%s', async (_what, argv) => {
    await symlink('sample.bam', join(folder, 'linked'));
    await copyFile(join(folder, 'me.sec.pem'), join(folder, 'other.sec.pem'));
    const all = async () => Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name))));
    const before = await all();
    const { exitCode, stderr } = await runCli([...argv, '--force'], { folder });
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('so it is not replaced'),
    });
    expect(await all()).toEqual(before);
    for (const name of ['linked', 'other.sec.pem']) await rm(join(folder, name));
  });
});

describe('decrypt takes several files, and folders', () => {
  const other = generateKeyPair();
  let tree: string;
  const run = (...argv: string[]) =>
    runCli(['decrypt', '--key', join(folder, 'me.sec.pem'), ...argv], { folder: tree });
  const found = async () => (await readdir(tree, { recursive: true })).sort();
  const text = (name: string) => readFile(join(tree, name), 'utf8');

  beforeEach(async () => {
    tree = await mkdtemp(join(tmpdir(), 'data-out-tree-'));
    await mkdir(join(tree, 'data/study'), { recursive: true });
    const put = async (name: string, reader = me.publicKey) =>
      writeFile(join(tree, name), await collect(encrypt([Buffer.from(name)], { recipients: [reader] })));
    for (const name of ['data/a.c4gh', 'data/study/b.bam.c4gh', 'data/study/b.bam.bai.C4GH']) await put(name);
    await put('foreign.c4gh', other.publicKey);
    await writeFile(join(tree, 'data', 'EGAD1-x.delivery.jws'), 'a receipt');
  });
  afterEach(() => rm(tree, { recursive: true }));

  test('a tree stays a tree', async () => {
    const { exitCode, stderr } = await run('-o', 'open', 'data');
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 10,
      stderr: expect.stringContaining('3 of 3 files decrypted'),
    });
    const written = ['open', 'open/a', 'open/study', 'open/study/b.bam', 'open/study/b.bam.bai'];
    expect((await found()).filter((name) => name.startsWith('open'))).toEqual(written);
    expect(await text('open/study/b.bam')).toBe('data/study/b.bam.c4gh');
    expect((await stat(join(tree, 'open/study/b.bam'))).mode & 0o077).toBe(0);
  });

  test('the others, if one fails: none of them twice, and no file is replaced', async () => {
    const { exitCode, stderr } = await run('data/a.c4gh', 'foreign.c4gh', 'data/study/b.bam.c4gh', '-o', 'open');
    expect(exitCode).toBe(5);
    expect(stderr).toContain('warning: foreign.c4gh: ');
    expect((await readdir(join(tree, 'open'))).sort()).toEqual(['a', 'b.bam']);
    const again = await run('data/a.c4gh', 'data/study/b.bam.c4gh', '-o', 'open');
    expect(again).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('2 of 2 files decrypted (2 before)') });
    await writeFile(join(tree, 'open/a'), 'notes of mine');
    expect((await run('data/a.c4gh', 'data/study/b.bam.c4gh', '-o', 'open')).exitCode).toBe(5);
    expect(await text('open/a')).toBe('notes of mine');
    expect((await run('data/a.c4gh', 'data/study/b.bam.c4gh', '-o', 'open', '--force')).exitCode).toBe(0);
  });

  test('goes through no symbolic links below a folder, and says so', async () => {
    await symlink('../foreign.c4gh', join(tree, 'data/link.c4gh'));
    await symlink('..', join(tree, 'data/up'));
    await symlink('study', join(tree, 'data/plain'));
    await symlink('nowhere', join(tree, 'data/notes'));
    const { exitCode, stderr } = await run('-o', 'open', 'data');
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 10, stderr: expect.stringContaining('3 of 3 files') });
    for (const name of ['link.c4gh', 'up', 'plain'])
      expect(stderr).toContain(`data/${name} is a symbolic link: skipped\n`);
    expect(stderr).not.toContain('notes');
  });

  test.each([
    ['of a folder', ['data']],
    ['among several', ['data/a.c4gh', 'data/a.c4gh.c4gh']],
    ['under its own name', ['data/a.c4gh', '-o', 'data/a.c4gh']],
    ['behind a link', ['data/a.c4gh', '-o', 'link']],
    ['that is the key', ['data/a.c4gh', '-o', 'key']],
  ])('but replaces no file that it reads: %s', async (_what, argv) => {
    await copyFile(join(tree, 'data/a.c4gh'), join(tree, 'data/a.c4gh.c4gh'));
    await symlink('data/a.c4gh', join(tree, 'link'));
    await symlink(join(folder, 'me.sec.pem'), join(tree, 'key'));
    const before = await readFile(join(tree, 'data/a.c4gh'));
    const { exitCode, stderr } = await run('--force', ...argv);
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('is an input, so it is'),
    });
    expect(await readFile(join(tree, 'data/a.c4gh'))).toEqual(before);
    expect(await found()).not.toContain('data/a');
  });

  test.each([
    ['standard input among them', ['-', 'data/a.c4gh'], 2, 'standard input'],
    ['standard output', ['-o', '-', 'data'], 2, 'standard output'],
    ['one name twice', ['-o', 'open', 'data/a.c4gh', 'data'], 2, 'open/a'],
    ['a folder without containers', ['data', 'empty'], 4, 'empty'],
  ] as const)('but not %s', async (_what, argv, code, named) => {
    await mkdir(join(tree, 'empty'));
    const before = await found();
    expect(await run(...argv)).toMatchObject({ exitCode: code, stderr: expect.stringContaining(named) });
    expect(await found()).toEqual(before);
  });
});

test('plaintext is readable by its owner alone', async () => {
  await runCli(['decrypt', '--key', 'me.sec.pem', '-o', 'plain', 'mine.c4gh'], { folder });
  const { mode } = await stat(join(folder, 'plain'));
  expect(mode & 0o077).toBe(0);
  await rm(join(folder, 'plain'));
});

test('what a killed run has left goes with the next one, and only that', async () => {
  const ended = spawnSync(process.execPath, ['--version']).pid;
  const nameOf = (host: string, pid: number) => `.data-out-${host.replace(/[^\w.]/g, '_')}-${pid}-0123456789ab.part`;
  const left = nameOf(hostname(), ended);
  const others = [nameOf(hostname(), process.pid), nameOf('elsewhere', ended), '.data-out-x.part'];
  const place = join(folder, 'killed');
  await mkdir(place);
  for (const name of [left, ...others]) await writeFile(join(place, name), 'half');
  await runCli(['decrypt', '--key', 'me.sec.pem', '-o', 'killed/plain', 'mine.c4gh'], { folder });
  expect((await readdir(place)).sort()).toEqual([...others, 'plain'].sort());
  await rm(place, { recursive: true });
});

describe('a terminal as standard output', () => {
  const argv = ['decrypt', '--key', 'me.sec.pem', '-'];

  test('gets no bytes of a file unless they were sent there by name', async () => {
    const refused = await runCli(argv, { folder, input: inputOf(container), ...terminalOf(80) });
    expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--output') });
    expect(refused.stdout.length).toBe(0);
    const asked = await runCli([...argv, '-o', '-'], { folder, input: inputOf(container), ...terminalOf(80) });
    expect(asked.stdout.equals(plaintext)).toBe(true);
  });
});
