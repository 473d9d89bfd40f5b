import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatPublicKey } from '../../lib/crypt4gh/index.ts';
import { notVerified } from '../helpers/client-process.ts';
import { ClientWorld, namesIn } from '../helpers/client-world.ts';
import { Service, until } from '../helpers/service.ts';

/** The commands of the client that talk to a service, as their own processes, against the whole service. */
let world: ClientWorld;
let fileId: string;
let publicKeyPath: string;
const archived = { path: 'study/sample one.bam', size: 7_000_000 };

beforeAll(async () => {
  world = await ClientWorld.of(await Service.shared());
  const { service } = world;
  ({ fileId } = await service.archive('EGAD1', archived.path, archived.size));
  await service.setDataset('EGAD1', 'released');
  publicKeyPath = join(world.root, 'key.pub.pem');
  await writeFile(publicKeyPath, formatPublicKey(world.keys.publicKey));
}, 60_000);
afterAll(() => world.stop());

const lines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('an outbox without files', () => {
  test('downloading all of it is not a failure; a name in it is not found', async () => {
    const [all, named] = await Promise.all([
      world.run(['download', '--all']),
      world.run(['download', 'EGAF1', '--json']),
    ]);
    expect(all).toMatchObject({
      exitCode: 0,
      stdout: '',
      stderr: 'Your outbox is empty: no files are staged for researcher.\n',
    });
    expect(named).toMatchObject({ exitCode: 4, stdout: '' });
    expect(lines(named.stderr)).toMatchObject([{ error: { code: 'not_found' } }]);
  });
});

describe('download', () => {
  let content: Awaited<ReturnType<ClientWorld['stageContainer']>>;
  beforeAll(async () => {
    content = await world.stageContainer('EGAF1-a.bam.c4gh', 200_000);
    await world.stage('EGAF2-broken.bam.c4gh', Buffer.from('nothing of that kind'));
    await world.stageContainer('EGAF3-c.txt.c4gh', 10);
  });

  test('by pattern, with one JSON object per line, into a folder with spaces and letters of all kinds', async () => {
    const folder = join(world.root, 'my dåta ✓');
    const { exitCode, stdout, stderr } = await world.run(['download', '*.bam.*', '-o', folder, '--json']);
    expect({ exitCode, errors: lines(stderr) }).toMatchObject({
      exitCode: notVerified,
      errors: [{ error: { code: 'not_verified' } }],
    });
    expect(lines(stdout)).toContainEqual({
      name: 'EGAF1-a.bam.c4gh',
      outcome: 'downloaded',
      size: content.container.length,
      path: join(folder, 'EGAF1-a.bam.c4gh'),
    });
    expect(lines(stdout).at(-1)).toMatchObject({ summary: { files: 2, downloaded: 2, skipped: 0, failed: 0 } });
    expect(await namesIn(folder)).toEqual(['EGAF1-a.bam.c4gh', 'EGAF2-broken.bam.c4gh']);
    expect(await readFile(join(folder, 'EGAF1-a.bam.c4gh'))).toEqual(content.container);
  });

  test('a reader of its output that goes away stops nothing', async () => {
    const folder = await world.folder();
    const within = ['bash', '-c', 'set -o pipefail; "$@" | head -n 1 > /dev/null', 'bash'];
    const { exitCode, stderr } = await world.run(['download', '--all', '--parallel', '1', '-o', folder], { within });
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: notVerified,
      stderr: expect.stringMatching(/^3 files: 3 downloaded/),
    });
    expect(await namesIn(folder)).toEqual(['EGAF1-a.bam.c4gh', 'EGAF2-broken.bam.c4gh', 'EGAF3-c.txt.c4gh']);
  });

  test('a name that matches nothing stops all of it before it begins', async () => {
    const folder = join(world.root, 'never made');
    const { exitCode, stderr } = await world.run(['download', 'EGAF1*', 'EGAF9*', '-o', folder]);
    expect(exitCode).toBe(4);
    expect(stderr).toContain('no file that matches "EGAF9*"');
    await expect(stat(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('credentials do not reach storage', async () => {
    await using faults = await disposable();
    const { exitCode } = await world.run(['download', 'EGAF3*', '-o', await world.folder()], { url: faults.url });
    expect(exitCode).toBe(notVerified);
    const storage = faults.proxy.requests.filter(({ on }) => on === 'storage');
    expect(storage).not.toEqual([]);
    for (const { headers } of storage) {
      expect(Object.keys(headers)).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/^(authorization|proxy-authorization|x-ga4gh-visa)$/)]),
      );
    }
  });
});

describe.concurrent('an error is one sentence with a remedy', () => {
  test('wrong password', async () => {
    const run = await world.run(['download', '--all'], { env: { DATA_OUT_PASSWORD: 'not-this-one' } });
    expect(run.exitCode).toBe(3);
    expect(run.stderr).toContain("the central archive's user name or password is wrong (request ");
    expect(run.stderr + run.stdout).not.toContain('not-this-one');
  });

  test('no password, and no terminal to ask at', async () => {
    const run = await world.run(['download', '--all'], { env: { DATA_OUT_PASSWORD: '' }, within: ['setsid', '-w'] });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain('Give it with --password-file FILE.');
  });

  test.each([
    ['no service listens', 'http://127.0.0.1:9/v1/', 7, '127.0.0.1:9: no service listens there (ECONNREFUSED)'],
    ['no such host', 'https://data-out.invalid/v1/', 7, 'data-out.invalid: '],
    ['not encrypted', 'http://data-out.example.org/v1/', 2, 'is not encrypted'],
  ])('wrong address: %s', async (_what, url, exitCode, text) => {
    const run = await world.run(['download', '--all'], { url });
    expect(run).toMatchObject({ exitCode, stdout: '' });
    expect(run.stderr).toContain(text);
  });

  test('Ctrl-C ends a command at once, and keeps the bytes it has', async () => {
    await using faults = await disposable();
    faults.proxy.break({ on: 'storage', fault: { kind: 'stall', bytes: 1_000 }, times: 100 });
    const folder = await world.folder();
    const { child, ended } = world.start(['download', 'EGAF1*', '-o', folder], { url: faults.url });
    await expect.poll(() => faults.proxy.requests.some(({ on }) => on === 'storage'), { timeout: 10_000 }).toBe(true);
    child.kill('SIGINT');
    const run = await ended;
    expect(run).toMatchObject({ exitCode: 130, stdout: '' });
    expect(run.stderr).toContain('data-out: interrupted');
    expect(await namesIn(folder)).not.toContain('EGAF1-a.bam.c4gh');
  });
});

// In turn: of two requests for one file and recipient, the older one may find nothing left to do.
describe('export', () => {
  const administrator = () => ({
    DATA_OUT_ADMIN_USERNAME: world.service.connection.admin.username,
    DATA_OUT_ADMIN_PASSWORD: world.service.connection.admin.password,
  });

  test('of a file is staged for the recipient', async () => {
    const argv = ['admin', 'export', fileId, '--visa', world.visaPath, '--public-key', publicKeyPath, '--json'];
    const run = await world.run(argv, { env: administrator() });
    expect(run).toMatchObject({ exitCode: 0, stderr: '' });
    const [{ requestId = '', outcome }] = lines(run.stdout) as [Record<string, string>];
    expect(outcome).toBe('accepted');
    const rows = await world.service.settled(requestId);
    expect(rows.map(({ event }) => event)).toContain('staged');
  });

  test('with a dry run needs no credentials and sends nothing', async () => {
    const before = world.service.calls('export sqs SendMessage');
    const argv = ['admin', 'export', 'EGAD7', '--visa', world.visaPath, '--public-key', publicKeyPath, '--dry-run'];
    const run = await world.run(argv);
    expect(run.exitCode).toBe(0);
    expect(run.stdout).toContain('would export  dataset EGAD7, kind fega');
    expect(run.stderr).toContain('the visa names EGAD1');
    expect(world.service.calls('export sqs SendMessage')).toBe(before);
  });

  test('with a wrong password is refused, and says whose it is', async () => {
    const env = { ...administrator(), DATA_OUT_ADMIN_PASSWORD: 'not-this-one' };
    const argv = ['admin', 'export', 'EGAD1', '--visa', world.visaPath, '--public-key', publicKeyPath];
    const run = await world.run(argv, { env });
    expect(run).toMatchObject({ exitCode: 3, stdout: '' });
    expect(run.stderr).toContain("Check the administrator's user name and password");
    expect(run.stderr).not.toContain('not-this-one');
  });

  test('of a batch prints a line for each row, and sends nothing twice', async () => {
    const batch = join(world.root, 'batch.csv');
    await writeFile(
      batch,
      `id,type,visa,public_key\nEGAD1,,visa.jwt,key.pub.pem\n${fileId},fileId,visa.jwt,none.pem\n`,
    );
    const argv = ['admin', 'export', '--batch', batch];
    const first = await world.run(argv, { env: administrator() });
    expect(first.exitCode).toBe(5);
    expect(first.stdout).toMatch(/^line 2: EGAD1: queued, request [0-9a-f-]{36}\nline 3: .*: failed: public_key: /);
    await writeFile(
      batch,
      `id,type,visa,public_key\nEGAD1,,visa.jwt,key.pub.pem\n${fileId},fileId,visa.jwt,key.pub.pem\n`,
    );
    const second = await world.run(argv, { env: administrator() });
    expect(second.exitCode).toBe(0);
    expect(second.stdout).toMatch(/^line 2: EGAD1: queued before, .*not sent again\nline 3: .*: queued, /);
  });

  test('that is waited for continues after Ctrl-C, and the client says so', async () => {
    const { service } = world;
    const asked = () => service.calls('export-status rds-data ExecuteStatement');
    const before = asked();
    const heal = service.engine.traffic.addFault(({ caller, service: aws }) =>
      caller === 'consume-export' && aws === 'rds-data'
        ? { error: { status: 400, code: 'ThrottlingException' } }
        : undefined,
    );
    try {
      const argv = ['admin', 'export', 'EGAD1', '--visa', world.visaPath, '--public-key', publicKeyPath, '--wait'];
      const { child, ended } = world.start(argv, { env: administrator() });
      // It asks for the request, the audit trail and the list, and finds that the request waits in its queue.
      await until(async () => asked() >= before + 3 || undefined, 'the client to wait');
      child.kill('SIGINT');
      const { exitCode, stdout, stderr } = await ended;
      const [, requestId = ''] = /queued, request ([0-9a-f-]{36})/.exec(stdout) ?? [];
      expect(exitCode).toBe(130);
      expect(stderr).toContain(`stopped waiting; the export continues: data-out admin show ${requestId}`);
      heal();
      await service.settled(requestId);
    } finally {
      heal();
    }
  });
});

describe.concurrent('doctor', () => {
  test('finds nothing wrong', async () => {
    const argv = ['doctor', '--json', '--key', world.keyPath];
    const run = await world.run(argv);
    expect(run).toMatchObject({ exitCode: 0, stderr: '' });
    const verdicts = lines(run.stdout).map(({ check, verdict }) => `${check} ${verdict}`);
    expect(verdicts).toEqual(['address ok', 'clock ok', 'visa ok', 'credentials ok', 'receipts ok', 'key ok']);
  });

  test('finds the wrong password', async () => {
    const run = await world.run(['doctor'], { env: { DATA_OUT_PASSWORD: 'not-this-one' } });
    expect(run.exitCode).toBe(3);
    expect(run.stdout).toMatch(/^failed {3}credentials {2}the listing: .* password is wrong/m);
    expect(run.stderr).toMatch(/^data-out: 1 of \d checks failed, first: credentials\n$/);
  });

  test('finds that another service answers', async () => {
    const server = createServer((_request, response) => response.end('<html>hello</html>')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const run = await world.run(['doctor'], { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` });
    server.close();
    expect(run.exitCode).toBe(1);
    expect(run.stdout).toMatch(/^failed {3}address .*answers, but not as a data-out service$/m);
  });
});

/** A fault proxy that ends with the test. */
async function disposable() {
  const proxy = await world.faults();
  return { proxy, url: proxy.url, [Symbol.asyncDispose]: () => proxy.stop() };
}
