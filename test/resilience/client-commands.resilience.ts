import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createCipheriv, randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { encrypt, formatPrivateKey, formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { collect } from '../helpers/crypt4gh-vectors.ts';
import { installedProgram, startOf } from '../helpers/installed-program.ts';
import { type PipeChoices, pipeProcess } from '../helpers/pipe-process.ts';
import { readPlainly } from '../helpers/plain-crypt4gh.ts';
import { rearranged } from '../helpers/rearranged.ts';

const me = generateKeyPair();
const other = generateKeyPair();
/** Larger than the files that are handled without threads. */
const large = bytesOf(9 * 1024 * 1024 + 123);
/** Two segments and a bit. */
const small = bytesOf(150_000);

/** The same bytes for the same size, as random as a key stream. */
function bytesOf(size: number): Buffer {
  return createCipheriv('aes-128-ctr', Buffer.alloc(16, size % 251), Buffer.alloc(16)).update(Buffer.alloc(size));
}

let folder: string;
/** The client as it is installed. */
const root = mkdtempSync(join(tmpdir(), 'data-out-client-commands-'));
const script = await installedProgram();
const { command } = startOf(script);
let container: Buffer;
let largeContainer: Buffer;
beforeAll(async () => {
  const recipients = [me.publicKey];
  container = Buffer.from(await collect(encrypt([small], { recipients })));
  largeContainer = Buffer.from(await collect(encrypt([large], { recipients })));
});
/** That many zero bytes, in pieces. */
function* zeros(total: number): Generator<Buffer> {
  for (let size = 0; size < total; size += 65_536) yield Buffer.alloc(65_536);
}

beforeEach(async () => {
  folder = await mkdtemp(join(root, 'mappe med ærlig navn '));
  await writeFile(join(folder, 'me.sec.pem'), await formatPrivateKey(me.privateKey), { mode: 0o600 });
  await writeFile(join(folder, 'me.pub.pem'), formatPublicKey(me.publicKey));
  await writeFile(join(folder, 'other.sec.pem'), await formatPrivateKey(other.privateKey), { mode: 0o600 });
  await writeFile(join(folder, 'other.pub.pem'), formatPublicKey(other.publicKey));
  await writeFile(join(folder, 'prøve 1.bam'), small);
});
afterAll(() => rm(root, { recursive: true }));

type Choices = Partial<PipeChoices>;
const read = (name: string) => readFile(join(folder, name));
const dataOut = (argv: readonly string[], choices: Choices = {}) => pipeProcess(argv, { folder, script, ...choices });

/** As `dataOut`, for a command that must succeed. */
async function done(argv: readonly string[], choices: Choices = {}): Promise<Buffer> {
  const { exitCode, stdout, stderr } = await dataOut(argv, choices);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return stdout;
}

describe('encrypt', () => {
  test('makes a container that each recipient reads, from a file with spaces and letters of any script', async () => {
    await done(['encrypt', '-r', 'me.pub.pem', '-r', 'other.pub.pem', 'prøve 1.bam']);
    const container = await read('prøve 1.bam.c4gh');
    expect(readPlainly(container, me.privateKey).equals(small)).toBe(true);
    expect(readPlainly(container, other.privateKey).equals(small)).toBe(true);
  });

  test('a large file goes through threads, and is the same', async () => {
    await writeFile(join(folder, 'large'), large);
    await done(['encrypt', '-r', 'me.pub.pem', 'large']);
    expect(readPlainly(await read('large.c4gh'), me.privateKey).equals(large)).toBe(true);
  });

  test('a pipe in, a pipe out: binary safe, and nothing else on standard output', async () => {
    const container = await done(['encrypt', '-r', 'me.pub.pem', '-'], { input: large });
    expect(readPlainly(container, me.privateKey).equals(large)).toBe(true);
  });

  test('takes the public key of OpenSSH', async () => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'id')]);
    await done(['encrypt', '-r', 'id.pub', 'prøve 1.bam']);
    expect((await done(['decrypt', '--key', 'id', 'prøve 1.bam.c4gh', '-o', '-'])).equals(small)).toBe(true);
  }, 20_000);
});

describe('decrypt', () => {
  beforeEach(() => writeFile(join(folder, 'sample.bam.c4gh'), container));

  test('writes the plaintext under the name without .c4gh', async () => {
    await done(['decrypt', '--key', 'me.sec.pem', 'sample.bam.c4gh']);
    expect((await read('sample.bam')).equals(small)).toBe(true);
  });

  test('a large file goes through threads, and is the same', async () => {
    await writeFile(join(folder, 'large.c4gh'), largeContainer);
    await done(['decrypt', '--key', 'me.sec.pem', 'large.c4gh']);
    expect((await read('large')).equals(large)).toBe(true);
  });

  test('tries every key it is given, those of the configuration file too', async () => {
    await mkdir(join(folder, '.config/data-out'), { recursive: true });
    await writeFile(
      join(folder, '.config/data-out/config.toml'),
      'key_files = ["~/other.sec.pem", "../../me.sec.pem"]\n',
    );
    expect((await done(['decrypt', 'sample.bam.c4gh', '-o', '-'])).equals(small)).toBe(true);
  });

  test('another key opens nothing and leaves nothing', async () => {
    const { exitCode, stderr } = await dataOut(['decrypt', '--key', 'other.sec.pem', 'sample.bam.c4gh']);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('--key') });
    expect(await readdir(folder)).not.toContain('sample.bam');
  });

  test('a protected key takes its passphrase from a file, while the data come through the pipe', async () => {
    await writeFile(join(folder, 'protected.pem'), await formatPrivateKey(me.privateKey, { passphrase: 'tøff' }), {
      mode: 0o600,
    });
    await writeFile(join(folder, 'passphrase'), 'tøff\n');
    const argv = ['decrypt', '--key', 'protected.pem', '-'];
    const input = await read('sample.bam.c4gh');
    expect((await done([...argv, '--passphrase-file', 'passphrase'], { input })).equals(small)).toBe(true);
    expect((await done(argv, { input, env: { C4GH_PASSPHRASE: 'tøff' } })).equals(small)).toBe(true);
    const withoutPassphrase = await dataOut(argv, { input });
    expect(withoutPassphrase).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--passphrase-file') });
    const wrong = await dataOut(argv, { input, env: { DATA_OUT_PASSPHRASE: 'svak' } });
    expect(wrong).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('passphrase is wrong') });
    expect(wrong.stderr).not.toContain('svak');
  });

  test.each([
    ['in a small file', 0, 70_000],
    ['in a large file, on threads', 9 * 1024 * 1024, 5_000_000],
  ])('a damaged segment %s is named, and no file is left', async (_what, size, position) => {
    const damaged = Buffer.from(size === 0 ? container : largeContainer);
    damaged[position]! ^= 1;
    await writeFile(join(folder, 'damaged.c4gh'), damaged);
    const before = await readdir(folder);
    const { exitCode, stderr } = await dataOut(['decrypt', '--key', 'me.sec.pem', 'damaged.c4gh']);
    const segment = Math.floor((position - 124) / 65_564);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 8, stderr: expect.stringContaining(`segment ${segment} `) });
    expect(await readdir(folder)).toEqual(before);
  });

  test('a file that is not a container is damaged data', async () => {
    const { exitCode, stderr } = await dataOut(['decrypt', '--key', 'me.sec.pem', 'prøve 1.bam', '-o', 'x']);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 8, stderr: expect.stringContaining('not a Crypt4GH') });
  });
});

describe('existing files', () => {
  beforeEach(async () => {
    await writeFile(join(folder, 'sample.bam.c4gh'), container);
    await writeFile(join(folder, 'sample.bam'), 'mine');
  });
  const decrypt = ['decrypt', '--key', 'me.sec.pem', 'sample.bam.c4gh'];

  test('are left alone without --force', async () => {
    const { exitCode, stderr } = await dataOut(decrypt);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 6, stderr: expect.stringContaining('--force') });
    expect((await read('sample.bam')).toString()).toBe('mine');
  });

  test('are replaced with it', async () => {
    await done([...decrypt, '--force']);
    expect((await read('sample.bam')).equals(small)).toBe(true);
  });

  test('are left alone even with --force until the new one is whole', async () => {
    await truncate(join(folder, 'sample.bam.c4gh'), 100_000);
    expect((await dataOut([...decrypt, '--force'])).exitCode).toBe(8);
    expect((await read('sample.bam')).toString()).toBe('mine');
    expect((await readdir(folder)).filter((name) => name.includes('.part'))).toEqual([]);
  });

  test('a link stays one', async () => {
    await symlink('sample.bam', join(folder, 'link'));
    await done([...decrypt, '-o', 'link', '--force']);
    expect((await read('sample.bam')).equals(small)).toBe(true);
  });

  test('a device is written to, and stays', async () => {
    await done([...decrypt, '-o', '/dev/null']);
    expect(spawnSync('test', ['-c', '/dev/null']).status).toBe(0);
  });
});

describe('reencrypt', () => {
  beforeEach(() => writeFile(join(folder, 'mine.c4gh'), container));

  test('gives the file to another reader, and takes it from me; the body is the same', async () => {
    await done(['reencrypt', '--key', 'me.sec.pem', '-r', 'other.pub.pem', 'mine.c4gh', '-o', 'theirs.c4gh']);
    const [mine, theirs] = [await read('mine.c4gh'), await read('theirs.c4gh')];
    expect(theirs.subarray(124).equals(mine.subarray(124))).toBe(true);
    expect(readPlainly(theirs, other.privateKey).equals(small)).toBe(true);
    expect(() => readPlainly(theirs, me.privateKey)).toThrow('not for this reader');
  });

  test('--add keeps me', async () => {
    const shared = await done(['reencrypt', '--key', 'me.sec.pem', '-r', 'other.pub.pem', '--add', 'mine.c4gh']);
    expect(readPlainly(shared, other.privateKey).equals(small)).toBe(true);
    expect(readPlainly(shared, me.privateKey).equals(small)).toBe(true);
  });

  test('packets for others are kept', async () => {
    const third = generateKeyPair();
    await writeFile(join(folder, 'third.pub.pem'), formatPublicKey(third.publicKey));
    const recipients = [me.publicKey, other.publicKey];
    await writeFile(join(folder, 'both.c4gh'), await collect(encrypt([small], { recipients })));
    const argv = ['reencrypt', '--key', 'me.sec.pem', '-r', 'third.pub.pem', 'both.c4gh'];
    const kept = await done(argv);
    expect(readPlainly(kept, third.privateKey).equals(small)).toBe(true);
    expect(readPlainly(kept, other.privateKey).equals(small)).toBe(true);
  });
});

describe('inspect', () => {
  beforeEach(() => writeFile(join(folder, 'mine.c4gh'), container));

  test('inspect tells sizes, packets, keys and the edit list, as they are by the standard', async () => {
    const found = JSON.parse(
      (await done(['inspect', '--json', '--key', 'other.sec.pem', '--key', 'me.sec.pem', 'mine.c4gh'])).toString(),
    );
    expect(found).toMatchObject({
      file: 'mine.c4gh',
      headerBytes: 124,
      packets: 1,
      recipientsAtMost: 1,
      bodyBytes: 150_000 + 3 * 28,
      segments: 3,
      plaintextBytes: 150_000,
      keysTried: 2,
      opensWith: [join(folder, 'me.sec.pem')],
      dataKeys: 1,
      editList: null,
      visibleBytes: 150_000,
    });
    const ranges = [{ start: 100, end: 200 }];
    const part = rearranged(container, { privateKeys: [me.privateKey], recipients: [me.publicKey], ranges });
    await writeFile(join(folder, 'part.c4gh'), part);
    const text = (await done(['inspect', '--key', 'me.sec.pem', 'part.c4gh'])).toString();
    expect(text).toContain('Edit list:  skip 100, keep 100\n');
    expect(text).toContain('Visible:    100 B\n');
  });

  test('inspect needs no key, and of a pipe no more than the header', async () => {
    const text = (await done(['inspect', '-'], { input: (await read('mine.c4gh')).subarray(0, 200) })).toString();
    expect(text).toContain('Header:     124 B, 1 packet, for at most 1 reader\n');
    expect(text).toContain('Body:       not known\n');
  });

  test('inspect does not look at the body', async () => {
    await writeFile(join(folder, 'mine.c4gh'), Buffer.from(container).fill(0, 124));
    expect((await done(['inspect', '--key', 'me.sec.pem', 'mine.c4gh'])).toString()).toContain('Opens with: ');
  });
});

describe('pipes', () => {
  const client = command.map((word) => `'${word}'`).join(' ');
  const shell = (line: string) =>
    spawnSync('bash', ['-c', `set -o pipefail; ${line}`], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder },
    });

  test('a reader that stops early ends the client, which says nothing, but has not done all', () => {
    const { status, stdout, stderr } = shell(`${client} encrypt -r me.pub.pem - < /dev/zero | head -c 100000 | wc -c`);
    expect({ status, stdout: stdout.toString().trim(), stderr: stderr.toString() }).toEqual({
      status: 5,
      stdout: '100000',
      stderr: '',
    });
  });

  test.each(['keys show me.pub.pem', 'decrypt --key me.sec.pem - < mine.c4gh', 'encrypt -r me.pub.pem - < mine.c4gh'])(
    'a full disk behind standard output is reported in one sentence: %s',
    async (command) => {
      await writeFile(join(folder, 'mine.c4gh'), container);
      const { status, stderr } = shell(`${client} --quiet ${command} > /dev/full`);
      expect({ status, stderr: stderr.toString() }).toEqual({
        status: 6,
        stderr: 'data-out: the disk is full\nMake room, or choose a folder on another disk.\n',
      });
    },
  );

  test('4 GB of address space, as on some login nodes, are enough for a large file', async () => {
    await writeFile(join(folder, 'large.c4gh'), largeContainer);
    const { status } = shell(`ulimit -v 4000000; ${client} decrypt --key me.sec.pem large.c4gh`);
    expect(status).toBe(0);
    expect((await read('large')).equals(large)).toBe(true);
  });

  test('a full standard error is not a failure', () => {
    expect(shell(`${client} keys show me.pub.pem 2> /dev/full`).status).toBe(0);
  });

  test('a slow reader slows the writer down: memory stays flat', async () => {
    const child = spawn('env', ['-i', ...command, 'encrypt', '-r', 'me.pub.pem', '-'], { cwd: folder });
    const total = 300 * 1024 * 1024;
    const written = pipeline(Readable.from(zeros(total)), child.stdin);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
    expect(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1])).toBeLessThan(256 * 1024);
    expect(child.stdin.writableFinished).toBe(false);
    let size = 0;
    for await (const chunk of child.stdout) size += chunk.length;
    await written;
    expect(size).toBe(124 + total + 28 * (total / 65_536));
  });

  test('an error ends the client, although the writer of the pipe says nothing', async () => {
    await writeFile(join(folder, 'mine.c4gh'), container);
    const silent = '< <(head -c 200 mine.c4gh; sleep 30 2> /dev/null)';
    for (const line of ['decrypt --key other.sec.pem -', 'reencrypt --key other.sec.pem -r me.pub.pem -']) {
      const { status } = shell(`${client} keys generate other --no-passphrase; timeout 10 ${client} ${line} ${silent}`);
      expect(status).toBe(3);
    }
  });

  test('a slow reader slows the writer of a pipe of the shell down: memory stays flat', async () => {
    const total = 300 * 1024 * 1024;
    expect(shell('mkfifo zeros').status).toBe(0);
    const writer = spawn('bash', ['-c', `head -c ${total} /dev/zero > zeros`], { cwd: folder });
    await using zeros = await open(join(folder, 'zeros'));
    const stdio = [zeros.fd, 'pipe', 'inherit'] as const;
    const child = spawn('env', ['-i', ...command, 'encrypt', '-r', 'me.pub.pem', '-'], {
      cwd: folder,
      stdio: [...stdio],
    });
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
    expect(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1])).toBeLessThan(256 * 1024);
    expect(writer.exitCode).toBeNull();
    let size = 0;
    for await (const chunk of child.stdout ?? []) size += chunk.length;
    expect(size).toBe(124 + total + 28 * (total / 65_536));
  });

  test('a named pipe is read and written as one', () => {
    const { status } = shell(
      `mkfifo in && (cat 'prøve 1.bam' > in &) && ${client} encrypt -r me.pub.pem in -o >(${client} decrypt --key me.sec.pem - | cmp - 'prøve 1.bam' && touch same); for i in {1..50}; do test -e same && break; sleep 0.1; done; test -e same`,
    );
    expect(status).toBe(0);
  });

  test.each([
    ['a large file', '< large.c4gh'],
    ['the rest of a file', '< behind.c4gh'],
    ['a pipe', '< <(cat large.c4gh)'],
    ['a pipe that is filled with pauses', '< <(head -c 70000 large.c4gh; sleep 0.3; tail -c +70001 large.c4gh)'],
  ])('standard input may be %s', async (_, redirection) => {
    await writeFile(join(folder, 'large'), large);
    await writeFile(join(folder, 'large.c4gh'), largeContainer);
    await writeFile(join(folder, 'behind.c4gh'), Buffer.concat([Buffer.alloc(1000), largeContainer]));
    const skip = redirection.includes('behind') ? 'dd bs=1000 count=1 status=none of=skipped; ' : '';
    const { status, stderr } = shell(`{ ${skip}${client} decrypt --key me.sec.pem - | cmp - large; } ${redirection}`);
    expect({ status, stderr: stderr.toString() }).toEqual({ status: 0, stderr: '' });
  });

  test('Ctrl-C ends the wait for a pipe of the shell, and a pipe that ends early is an error', async () => {
    await writeFile(join(folder, 'mine.c4gh'), container);
    // A pipe of Linux holds 64 KiB, so `head` ends when the client has read the rest and waits for more.
    await writeFile(join(folder, 'large.c4gh'), largeContainer);
    const stopped = shell(
      `${client} decrypt --key me.sec.pem - > part < <(head -c 200000 large.c4gh; touch read; exec sleep 30 2> /dev/null) & until test -e read; do sleep 0.1; done; kill -INT $!; wait $!`,
    );
    expect({ status: stopped.status, stderr: stopped.stderr.toString() }).toMatchObject({
      status: 130,
      stderr: expect.stringContaining('interrupted'),
    });
    const cut = shell(`head -c 100 mine.c4gh | ${client} decrypt --key me.sec.pem -`);
    expect({ status: cut.status, stderr: cut.stderr.toString() }).toMatchObject({
      status: 8,
      stderr: expect.stringContaining('ends inside the header'),
    });
  });

  test('Ctrl-C ends the wait for a silent pipe', async () => {
    const silent = new Readable({ read() {} });
    silent.push(largeContainer.subarray(0, -1));
    const { exitCode, stderr } = await dataOut(['decrypt', '--key', 'me.sec.pem', '-'], {
      input: silent,
      // Once it writes, it has read the header, and the rest of the container comes at once.
      onStart: (child) => child.stdout?.once('data', () => child.kill('SIGINT')),
    });
    silent.destroy();
    expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: expect.stringContaining('interrupted') });
  });

  test('Ctrl-C leaves no file', async () => {
    const { exitCode, stderr } = await dataOut(['encrypt', '-r', 'me.pub.pem', '/dev/zero', '-o', 'endless.c4gh'], {
      onStart: async (child) => {
        await vi.waitUntil(async () => (await readdir(folder)).some((name) => name.endsWith('.part')), 20_000);
        child.kill('SIGINT');
      },
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: expect.stringContaining('interrupted') });
    expect((await readdir(folder)).filter((name) => /part|endless/.test(name))).toEqual([]);
  });
});

describe('everywhere', () => {
  test('the sources do the same', async () => {
    const sources = { script: join(import.meta.dirname, '../../bin/data-out.ts') };
    const container = await done(['encrypt', '-r', 'me.pub.pem', '-'], { ...sources, input: small });
    expect(readPlainly(container, me.privateKey).equals(small)).toBe(true);
  });

  test('--help names every command and exit code; each command has examples', async () => {
    const help = (await done(['--help'])).toString();
    const commands = [...help.matchAll(/^ {2}([a-z]+)(?: \[options\]| <| \[|\s{2,})/gm)].map(([, name]) => name!);
    expect(commands).toEqual(
      expect.arrayContaining(['keys', 'list', 'encrypt', 'decrypt', 'reencrypt', 'inspect', 'completion']),
    );
    for (const code of ['0', '1', '2', '3', '4', '5', '6', '7', '8', '130'])
      expect(help).toMatch(new RegExp(`\\b${code} [a-z]`));
    expect((await done(['decrypt', '--help'])).toString()).toMatch(/Examples:\n {2}data-out decrypt/);
  });

  test('no colour, no cursor movement without a terminal', async () => {
    await writeFile(join(folder, 'large'), large);
    const { stdout, stderr } = await dataOut(['encrypt', '-r', 'me.pub.pem', 'large']);
    expect(`${stdout}${stderr}`).toBe('wrote large.c4gh\n');
  });

  test('--quiet says nothing, --json one object per line', async () => {
    expect(await dataOut(['encrypt', '--quiet', '-r', 'me.pub.pem', 'prøve 1.bam'])).toMatchObject({
      exitCode: 0,
      stderr: '',
    });
    const { stdout } = await dataOut(['encrypt', '--json', '-r', 'me.pub.pem', 'prøve 1.bam', '-o', 'b.c4gh']);
    expect(JSON.parse(stdout.toString())).toEqual({ file: 'prøve 1.bam', output: 'b.c4gh', recipients: 1 });
    const failed = await dataOut(['decrypt', '--json', '--key', 'other.sec.pem', 'b.c4gh', '-o', 'c']);
    expect(JSON.parse(failed.stderr)).toMatchObject({
      error: { code: 'no-decryptable-packet', remedy: expect.any(String) },
    });
  });

  test.each([
    ['url = "https://a.example.org', 'line 1'],
    ['colour = true', 'colour'],
  ])('a broken configuration file is named: %j', async (text, named) => {
    await mkdir(join(folder, '.config/data-out'), { recursive: true });
    await writeFile(join(folder, '.config/data-out/config.toml'), text);
    const { exitCode, stderr } = await dataOut(['inspect', 'prøve 1.bam']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(join(folder, '.config/data-out/config.toml'));
    expect(stderr).toContain(named);
  });

  test('a full disk is reported, and leaves no file', async () => {
    const line = `ulimit -f 1000; exec "$@"`;
    await writeFile(join(folder, 'noise'), randomBytes(3_000_000));
    const run = spawnSync('bash', ['-c', line, 'bash', ...command, 'encrypt', '-r', 'me.pub.pem', 'noise'], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder },
    });
    expect({ status: run.status, stderr: run.stderr.toString() }).toMatchObject({
      status: 6,
      stderr: expect.stringContaining('another disk'),
    });
    expect((await readdir(folder)).filter((name) => /part|noise\./.test(name))).toEqual([]);
  });
});
