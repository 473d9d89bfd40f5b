import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { notVerified } from '../helpers/client-process.ts';
import { ClientWorld, namesIn } from '../helpers/client-world.ts';
import { Service } from '../helpers/service.ts';

/** The commands of the client that talk to a service, as their own processes, against the whole service. */
let world: ClientWorld;
beforeAll(async () => {
  world = await ClientWorld.of(await Service.shared());
});
afterAll(() => world.stop());

test('a reader of its output that goes away stops no download', async () => {
  await world.stageContainer('EGAF1-a.bam.c4gh', 200_000);
  await world.stage('EGAF2-broken.bam.c4gh', Buffer.from('nothing of that kind'));
  await world.stageContainer('EGAF3-c.txt.c4gh', 10);
  const folder = await world.folder();
  const within = ['bash', '-c', 'set -o pipefail; "$@" | head -n 1 > /dev/null', 'bash'];
  const { exitCode, stderr } = await world.run(['download', '--all', '--parallel', '1', '-o', folder], { within });
  expect({ exitCode, stderr }).toMatchObject({
    exitCode: notVerified,
    stderr: expect.stringMatching(/^3 files: 3 downloaded/),
  });
  expect(await namesIn(folder)).toEqual(['EGAF1-a.bam.c4gh', 'EGAF2-broken.bam.c4gh', 'EGAF3-c.txt.c4gh']);
});

test('without a password, and without a terminal to ask at, a command says how to give one', async () => {
  const run = await world.run(['download', '--all'], { env: { DATA_OUT_PASSWORD: '' }, within: ['setsid', '-w'] });
  expect(run.exitCode).toBe(2);
  expect(run.stderr).toContain('Give it with --password-file FILE.');
});

test('doctor finds that another service answers', async () => {
  const server = createServer((_request, response) => response.end('<html>hello</html>')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const run = await world.run(['doctor'], { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` });
  server.close();
  expect(run.exitCode).toBe(1);
  expect(run.stdout).toMatch(/^failed {3}address .* does not answer as a data-out service of this version$/m);
});
