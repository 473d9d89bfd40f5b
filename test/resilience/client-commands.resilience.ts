import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createCipheriv } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
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

  test('takes the public key of OpenSSH', async () => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'id')]);
    await done(['encrypt', '-r', 'id.pub', 'prøve 1.bam']);
    expect((await done(['decrypt', '--key', 'id', 'prøve 1.bam.c4gh', '-o', '-'])).equals(small)).toBe(true);
  }, 20_000);
});

describe('decrypt', () => {
  beforeEach(() => writeFile(join(folder, 'sample.bam.c4gh'), container));

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
});

describe('existing files', () => {
  beforeEach(async () => {
    await writeFile(join(folder, 'sample.bam.c4gh'), container);
    await writeFile(join(folder, 'sample.bam'), 'mine');
  });
  const decrypt = ['decrypt', '--key', 'me.sec.pem', 'sample.bam.c4gh'];

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

test('reencrypt gives the file to another reader, with --add beside me, and keeps packets for others', async () => {
  const third = generateKeyPair();
  await writeFile(join(folder, 'third.pub.pem'), formatPublicKey(third.publicKey));
  await writeFile(join(folder, 'mine.c4gh'), container);
  const argv = ['reencrypt', '--key', 'me.sec.pem', '-r'];
  await done([...argv, 'other.pub.pem', 'mine.c4gh', '-o', 'theirs.c4gh']);
  const theirs = await read('theirs.c4gh');
  expect(theirs.subarray(124).equals(container.subarray(124))).toBe(true);
  expect(readPlainly(theirs, other.privateKey).equals(small)).toBe(true);
  expect(() => readPlainly(theirs, me.privateKey)).toThrow('not for this reader');
  await done([...argv, 'other.pub.pem', '--add', 'mine.c4gh', '-o', 'shared.c4gh']);
  const kept = await done([...argv, 'third.pub.pem', '--add', 'shared.c4gh']);
  for (const { privateKey } of [me, other, third]) expect(readPlainly(kept, privateKey).equals(small)).toBe(true);
});

test('inspect tells sizes, packets, keys and the edit list, as they are by the standard', async () => {
  const ranges = [{ start: 100, end: 200 }];
  const part = rearranged(container, { privateKeys: [me.privateKey], recipients: [me.publicKey], ranges });
  await writeFile(join(folder, 'part.c4gh'), part);
  const argv = ['inspect', '--key', 'other.sec.pem', '--key', 'me.sec.pem', 'part.c4gh'];
  const found = JSON.parse((await done([...argv, '--json'])).toString());
  expect(found).toMatchObject({
    ...{
      file: 'part.c4gh',
      packets: 2,
      recipientsAtMost: 1,
      segments: 1,
      keysTried: 2,
      dataKeys: 1,
      visibleBytes: 100,
    },
    opensWith: [join(folder, 'me.sec.pem')],
  });
  expect((await done(argv)).toString()).toContain('Edit list:  skip 100, keep 100\n');
  // Of a pipe, no more than the header is needed, and no key.
  const text = (await done(['inspect', '-'], { input: container.subarray(0, 200) })).toString();
  expect(text).toContain('Header:     124 B, 1 packet, for at most 1 reader\n');
  expect(text).toContain('Body:       not known\n');
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

  test.each(['Node.js', 'the shell'])(
    'a slow reader slows the writer of a pipe of %s down: memory stays flat',
    async (kind) => {
      const total = 300 * 1024 * 1024;
      expect(shell('mkfifo zeros').status).toBe(0);
      const writer =
        kind === 'the shell' && spawn('bash', ['-c', `head -c ${total} /dev/zero > zeros`], { cwd: folder });
      await using fifo = writer ? await open(join(folder, 'zeros')) : undefined;
      const child = spawn('env', ['-i', ...command, 'encrypt', '-r', 'me.pub.pem', '-'], {
        cwd: folder,
        stdio: [fifo?.fd ?? 'pipe', 'pipe', 'inherit'],
      });
      const written = child.stdin && pipeline(Readable.from(zeros(total)), child.stdin);
      // It has filled its output, and reads no more. Before, it might only be slow.
      let last = '';
      const count = (name: string) => Number(new RegExp(`${name}: (\\d+)`).exec(last)?.[1]);
      await vi.waitUntil(
        async () => {
          const before = last;
          last = await readFile(`/proc/${child.pid}/io`, 'utf8');
          return count('wchar') > 100_000 && last === before;
        },
        { timeout: 30_000, interval: 300 },
      );
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      expect(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1])).toBeLessThan(256 * 1024);
      expect(count('rchar')).toBeLessThan(total);
      let size = 0;
      for await (const chunk of child.stdout ?? []) size += chunk.length;
      await written;
      expect(size).toBe(124 + total + 28 * (total / 65_536));
    },
  );

  test('an error ends the client, although the writer of the pipe says nothing', async () => {
    await writeFile(join(folder, 'mine.c4gh'), container);
    const silent = '< <(head -c 200 mine.c4gh; sleep 30 2> /dev/null)';
    for (const line of ['decrypt --key other.sec.pem -', 'reencrypt --key other.sec.pem -r me.pub.pem -']) {
      const { status } = shell(`${client} keys generate other --no-passphrase; timeout 10 ${client} ${line} ${silent}`);
      expect(status).toBe(3);
    }
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

  test('no colour, no cursor movement without a terminal', async () => {
    await writeFile(join(folder, 'large'), large);
    const { stdout, stderr } = await dataOut(['encrypt', '-r', 'me.pub.pem', 'large']);
    expect(`${stdout}${stderr}`).toBe('wrote large.c4gh\n');
  });
});
