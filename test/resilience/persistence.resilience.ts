import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashPassword } from '../../lib/common/password-hash.ts';
import { connection } from '../../lib/contract/connection.ts';
import { decrypt, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { startEngine } from '../../lib/local/engine.ts';
import { localTarget } from '../../lib/ops/target.ts';
import { assembly } from '../helpers/assembly.ts';
import { collect } from '../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../helpers/made-files.ts';
import { basic, Service, until } from '../helpers/service.ts';

let folder: string;
beforeAll(async () => {
  await assembly();
  folder = await mkdtemp(join(tmpdir(), 'data-out-persistence-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const isOwnersOnly = (path: string) => (statSync(path).mode & 0o077) === 0;

describe('an engine with a data folder', () => {
  const datasetId = 'EGAD00000000001';
  const recipient = generateKeyPair();
  const user = { username: 'added-later', password: 'a password of a user' };
  let dataDir: string;
  let service: Service;
  let before: Awaited<ReturnType<typeof firstRun>>;

  /** Fill it, export, and stop it while one message is being worked on and another one lies in a dead-letter queue. */
  async function firstRun() {
    service = await Service.start({ dataDir });
    const { connection: first } = service;
    await service.archive(datasetId, 'notes.txt', 5000);
    await service.setDataset(datasetId, 'released');
    await localTarget(first).archiveUsers.save(user.username, await hashPassword(user.password));
    const visa = await service.visa({ datasetId });
    const requestId = await service.exported({ id: datasetId, visa, publicKey: recipient.publicKey });
    const audit = await service.settled(requestId);

    await service.enqueue(first.outputs.FileExportsDeadLetterQueueUrl, 'nobody can read this');
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    service.engine.traffic.addFault(({ caller }) => {
      if (caller !== 'consume-export') return undefined;
      resolve();
      return { delayMs: 60_000 };
    });
    const laterVisa = await service.visa({ datasetId, subject: 'another recipient' });
    const unfinished = await service.exported({ id: datasetId, visa: laterVisa, publicKey: recipient.publicKey });
    await begun;

    const listed = await service.list(visa);
    const container = await service.download(visa, listed[0]?.fileName ?? '');
    const publicKey = readFileSync(first.archiveKey.publicKeyPath, 'utf8');
    await service.stop();
    return { connection: first, visa, requestId, audit, listed, container, publicKey, unfinished, laterVisa };
  }

  beforeAll(async () => {
    dataDir = join(folder, 'kept');
    before = await firstRun();
    service = await Service.start({ dataDir });
  });
  afterAll(() => service?.stop());

  test('lists and streams what was staged, for the visa of then: its issuer is the same', async () => {
    expect(await service.list(before.visa)).toEqual(before.listed);
    const container = await service.download(before.visa, before.listed[0]?.fileName ?? '');
    expect(container.equals(before.container)).toBe(true);
  });

  test('knows administrators, users and keys of then', async () => {
    expect(service.connection.admin).toEqual(before.connection.admin);
    expect(service.connection.archiveUser).toEqual(before.connection.archiveUser);
    expect(readFileSync(service.connection.archiveKey.publicKeyPath, 'utf8')).toBe(before.publicKey);
    const headers = { 'X-GA4GH-Visa': before.visa, Authorization: basic(user) };
    expect((await service.get('files?inbox=false', before.visa, { headers })).status).toBe(200);
  });

  test('carries out the message it was working on when it was stopped', async () => {
    expect(await service.settled(before.unfinished)).toMatchObject([{ event: 'accepted' }, { event: 'staged' }]);
    const [staged] = await service.list(before.laterVisa);
    const container = await service.download(before.laterVisa, staged?.fileName ?? '');
    const plaintext = await collect(decrypt([container], { privateKeys: [recipient.privateKey] }));
    expect(plaintext).toEqual(await collect(bytesOf({ path: 'notes.txt', size: 5000 })));
  });

  test('still has the message in the dead-letter queue, which no function can read', async () => {
    expect(await service.queueDepth(service.connection.outputs.FileExportsDeadLetterQueueUrl)).toBe(1);
  });

  test('keeps its connection file: a second engine may not take it over', async () => {
    const { connectionPath, connection: running } = service.engine;
    await expect(startEngine({ assemblyDir: await assembly(), connectionPath })).rejects.toThrow(
      `an engine runs already at ${running.proxyUrl}`,
    );
    expect(await connectionIn(connectionPath)).toMatchObject({ proxyUrl: running.proxyUrl });
  });

  test('keeps what is secret for its owner', () => {
    expect(isOwnersOnly(dataDir)).toBe(true);
    expect(isOwnersOnly(service.connection.issuer.privateKeyPath)).toBe(true);
    for (const name of ['accounts.json', 'secrets.json', 'keys/archive.sec.pem']) {
      expect(isOwnersOnly(join(dataDir, name))).toBe(true);
    }
  });
});

interface Started {
  readonly child: ChildProcess;
  /** Its own folder for temporary files. */
  readonly temporary: string;
  /** Its working folder. */
  readonly cwd: string;
  readonly ended: Promise<{ code: number | null; stderr: string }>;
}

let processes = 0;

/** `npm start` after its synth: its own process group, as a shell would make it. */
async function start(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Started> {
  processes += 1;
  const [temporary, cwd] = [`tmp-${processes}`, `cwd-${processes}`].map((name) => join(folder, name)) as [
    string,
    string,
  ];
  for (const path of [temporary, cwd]) mkdirSync(path);
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../bin/start.ts'), ...argv], {
    cwd,
    env: { ...process.env, TMPDIR: temporary, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdout?.resume();
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, stderr }));
  return { child, temporary, cwd, ended };
}

/** Ids of all processes below one. */
function descendants(pid: number): number[] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const parents = rows.map((row) => row.trim().split(/\s+/).map(Number) as [number, number]);
  const below = (parent: number): number[] =>
    parents.flatMap(([child, its]): number[] => (its === parent ? [child, ...below(child)] : []));
  return below(pid);
}

/** Whether a process runs. One that has ended but still has an entry (a zombie) does not count. */
function isRunning(pid: number): boolean {
  try {
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z');
  } catch {
    return false;
  }
}

async function connectionIn(path: string) {
  await until(async () => (existsSync(path) ? true : undefined), path);
  return connection.parse(JSON.parse(readFileSync(path, 'utf8')));
}

/** Start, see that it serves, end it. @returns what it left in its folders */
async function runOnce(options: {
  argv?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Where connection.json is expected. @default - `.local/connection.json` in the working folder */
  path?: string;
  end: (pid: number) => void;
}) {
  const { child, temporary, cwd, ended } = await start(options.argv ?? [], options.env);
  const pid = child.pid ?? 0;
  const path = options.path ?? join(cwd, '.local/connection.json');
  const { proxyUrl } = await connectionIn(path);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect((await fetch(`${proxyUrl}/files?inbox=false`)).status).toBe(401);
  const children = descendants(pid);
  expect(children.length).toBeGreaterThan(0);
  options.end(pid);
  expect(await ended).toEqual({ code: 0, stderr: '' });
  for (const each of children) {
    await until(async () => (isRunning(each) ? undefined : true), `process ${each} to end`, 5000);
  }
  expect(existsSync(path)).toBe(false);
  expect(readdirSync(temporary)).toEqual([]);
  return readdirSync(cwd, { recursive: true, encoding: 'utf8' }).filter((name) => !name.endsWith('.log'));
}

describe('bin/start.ts', () => {
  test('Ctrl-C, which reaches every process of the group, ends it with exit code 0; nothing but logs is left', async () => {
    const left = await runOnce({ end: (pid) => process.kill(-pid, 'SIGINT') });
    expect(left.sort()).toEqual(['.local', '.local/logs']);
  });

  test('SIGTERM to it alone does the same; with --data-dir, connection.json exists', async () => {
    const dataDir = join(folder, 'of-a-process');
    const path = join(dataDir, 'connection.json');
    const end = (pid: number) => process.kill(pid, 'SIGTERM');
    expect(await runOnce({ argv: ['--data-dir', dataDir], path, end })).toEqual([]);
    expect(readdirSync(dataDir)).toEqual(
      expect.arrayContaining(['keys', 'logs', 'postgres', 'queues', 's3', 'secrets.json']),
    );
    expect(existsSync(join(dataDir, 'engine.lock'))).toBe(false);
  });

  test('the highest port leaves any free one to the second API', async () => {
    const { child, cwd, ended } = await start(['--port', '65535']);
    const { proxyUrl, dataOutUrl = '' } = await connectionIn(join(cwd, '.local/connection.json'));
    expect([new URL(proxyUrl).port, new URL(dataOutUrl).port]).toEqual(['65535', expect.stringMatching(/^\d+$/)]);
    child.kill('SIGTERM');
    expect(await ended).toEqual({ code: 0, stderr: '' });
  });

  test('a data folder that cannot be written is named', async () => {
    const file = join(folder, 'a-file');
    writeFileSync(file, '');
    const { code, stderr } = await (await start(['--data-dir', join(file, 'state')])).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^the data folder .*a-file\/state cannot be written: .*ENOTDIR.*\n$/);
  });

  test.each([
    [['--port', 'x'], '--port x is not a port number'],
    [['--port', '70000'], '--port 70000 is not a port number'],
    [['--dir', 'x'], "Unknown option '--dir'"],
  ])('%j is refused with the usage', async (argv, message) => {
    const { code, stderr } = await (await start(argv)).ended;
    expect(code).toBe(1);
    expect(stderr).toContain(message);
    expect(stderr).toContain('Usage: npm start');
  });
});
