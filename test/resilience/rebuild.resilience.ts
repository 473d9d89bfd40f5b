import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { destroyServiceStack } from '../helpers/destroyed-stack.ts';
import { opsProcess } from '../helpers/ops-process.ts';
import { blocksOf } from '../helpers/pages.ts';
import { Service, until, workQueueUrls } from '../helpers/service.ts';
import { stackTemplate } from '../helpers/template.ts';

/** `cdk destroy` of the service stack, and its way back, as docs/restore.md says it. */
const datasetId = 'EGAD00000000001';
const recipient = generateKeyPair();
let folder: string;
let service: Service;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-rebuild-'));
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('a destroyed and rebuilt service stack has lost nothing', { timeout: 300_000 }, async () => {
  const dataDir = join(folder, 'data');
  service = await Service.start({ dataDir });
  for (const [path, size] of Object.entries({ 'a.vcf': 500, 'b.vcf': 500, 'c.bam': 8_600_000 })) {
    await service.archive(datasetId, path, size);
  }
  await service.setDataset(datasetId, 'released');
  const subjects = ['whole', 'dead', 'staging', 'waiting'];
  const visas = await Promise.all(subjects.map((subject) => service.visa({ subject, datasetId })));
  const order = (visa = '') => service.exported({ id: datasetId, visa, publicKey: recipient.publicKey });
  const whole = await order(visas[0]);
  await service.settled(whole, 3);

  // One request among the dead letters, one whose files wait, one that nothing has read.
  const { traffic } = service.engine;
  const { ExportRequestsDeadLetterQueueUrl: deadQueue } = service.connection.outputs;
  const mend = traffic.addFault(({ caller, input }) =>
    caller === 'consume-export' && /FileExports$/.test(String(input?.QueueUrl))
      ? { error: { status: 403, code: 'AccessDenied' } }
      : undefined,
  );
  // It is held, not failed: after a failure the letter would be hidden for half an hour.
  traffic.addFault(({ caller, service: name }) =>
    caller === 'record-dead-letters' && name === 'rds-data' ? { delayMs: 120_000 } : undefined,
  );
  const dead = await order(visas[1]);
  // Five receives, one per second.
  await until(async () => (await service.queueDepth(deadQueue)) === 1 || undefined, 'the dead letter');
  mend();
  const begun = Promise.withResolvers<void>();
  let isStaging = false;
  traffic.addFault(({ caller, service: name }) => {
    if (caller === 'stage-file' && name === 's3') begun.resolve();
    const isHeld = (caller === 'stage-file' && name === 's3') || (caller === 'consume-export' && isStaging);
    return isHeld ? { delayMs: 120_000 } : undefined;
  });
  const staging = await order(visas[2]);
  await begun.promise;
  isStaging = true;
  const waiting = await order(visas[3]);
  await service.stop();

  const kept = await destroyServiceStack(dataDir);
  expect(kept).toHaveLength(workQueueUrls(service.connection.outputs).length);

  service = await Service.start({ dataDir });
  const givenUp = async () => (await service.audit(dead)).filter(({ event }) => event === 'given_up').length;
  await until(async () => (await givenUp()) === 3 || undefined, 'the files of the dead letter to be given up');
  const argv = ['exports', 'retry', dead];
  expect(await opsProcess(argv, { connectionPath: service.engine.connectionPath })).toMatchObject({ exitCode: 0 });
  for (const requestId of [whole, dead, staging, waiting]) {
    const steps = await service.settled(requestId, 3);
    expect(steps.filter(({ event }) => event === 'staged')).toHaveLength(3);
  }
  for (const visa of visas) expect(await service.list(visa)).toHaveLength(3);
});

test('the page names each queue of the stack for the import, by its logical id', async () => {
  const { template } = await stackTemplate('DataOutService');
  const queues = Object.entries(template.Resources).filter(([, { Type }]) => Type === 'AWS::SQS::Queue');
  const block = blocksOf('docs/restore.md').find(({ language }) => language === 'json');
  const url = 'https://sqs.REGION.amazonaws.com/ACCOUNT';
  const expected = queues.map(([id, { Properties }]) => [id, { QueueUrl: `${url}/${Properties.QueueName}` }]);
  expect(JSON.parse(block?.text ?? '')).toEqual(Object.fromEntries(expected));
});
