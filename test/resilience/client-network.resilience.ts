import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatPublicKey } from '../../lib/crypt4gh/index.ts';
import { notVerified } from '../helpers/client-process.ts';
import { ClientWorld, namesIn } from '../helpers/client-world.ts';
import { Service } from '../helpers/service.ts';

/** The commands of the client that talk to a service, as their own processes, against the whole service. */
let world: ClientWorld;
beforeAll(async () => {
  world = await ClientWorld.of(await Service.shared());
});
afterAll(() => world.stop());

describe('download', () => {
  beforeAll(async () => {
    await world.stageContainer('EGAF1-a.bam.c4gh', 200_000);
    await world.stage('EGAF2-broken.bam.c4gh', Buffer.from('nothing of that kind'));
    await world.stageContainer('EGAF3-c.txt.c4gh', 10);
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

describe('a command ends with a sentence', () => {
  test('no password, and no terminal to ask at', async () => {
    const run = await world.run(['download', '--all'], { env: { DATA_OUT_PASSWORD: '' }, within: ['setsid', '-w'] });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain('Give it with --password-file FILE.');
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

test('a dry run of an export needs no credentials and sends nothing', async () => {
  const publicKeyPath = join(world.root, 'key.pub.pem');
  await writeFile(publicKeyPath, formatPublicKey(world.keys.publicKey));
  const before = world.service.calls('export sqs SendMessage');
  const argv = ['admin', 'export', 'EGAD7', '--visa', world.visaPath, '--public-key', publicKeyPath, '--dry-run'];
  const run = await world.run(argv);
  expect(run.exitCode).toBe(0);
  expect(run.stdout).toContain('would export  dataset EGAD7, kind fega');
  expect(run.stderr).toContain('the visa names EGAD1');
  expect(world.service.calls('export sqs SendMessage')).toBe(before);
});

test('doctor finds that another service answers', async () => {
  const server = createServer((_request, response) => response.end('<html>hello</html>')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const run = await world.run(['doctor'], { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` });
  server.close();
  expect(run.exitCode).toBe(1);
  expect(run.stdout).toMatch(/^failed {3}address .*answers, but not as a data-out service$/m);
});

/** A fault proxy that ends with the test. */
async function disposable() {
  const proxy = await world.faults();
  return { proxy, url: proxy.url, [Symbol.asyncDispose]: () => proxy.stop() };
}
