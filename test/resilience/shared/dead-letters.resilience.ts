import { randomUUID } from 'node:crypto';
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import type { AwsCall, Fault } from '../../../lib/local/endpoint/traffic.ts';
import { areQueuesEmpty } from '../../helpers/broken-calls.ts';
import { opsProcess } from '../../helpers/ops-process.ts';
import { Service, until } from '../../helpers/service.ts';

const recipient = generateKeyPair();
let service: Service;
beforeAll(async () => {
  service = await Service.shared();
});
afterAll(() => service?.stop());

let datasets = 0;
let datasetId: string;
let subject: string;
let undo: () => void;
beforeEach(() => {
  datasets += 1;
  datasetId = `EGAD${datasets}`;
  subject = randomUUID();
});
afterEach(() => undo?.());

const ops = (...argv: string[]) => opsProcess(argv, { connectionPath: service.engine.connectionPath });
const run = async (...argv: string[]) => {
  const { exitCode, stdout, stderr } = await ops('dead-letters', ...argv);
  const records = argv.includes('--json') && stdout !== '' ? stdout.trim().split('\n') : [];
  return { exitCode, stderr, stdout, letters: records.map((line) => JSON.parse(line) as Record<string, string>) };
};

function breakCalls(rule: (call: AwsCall) => Fault | undefined): void {
  undo = service.engine.traffic.addFault(rule);
}

/** An export that ends among the dead letters of a queue, because calls of its function fail. @returns its request and visa */
async function failed(caller: 'consume-export' | 'stage-file', files: number, queueUrl: string) {
  for (let i = 0; i < files; i += 1) await service.archive(datasetId, `${i}.vcf`, 1000, `EGAF${datasets}0${i}`);
  await service.setDataset(datasetId, 'released');
  const isBroken = ({ service: name, input }: AwsCall) =>
    caller === 'stage-file' ? name === 's3' : /FileExports$/.test(String(input?.QueueUrl));
  breakCalls((call) =>
    call.caller === caller && isBroken(call) ? { error: { status: 403, code: 'AccessDenied' } } : undefined,
  );
  const visa = await service.visa({ subject, datasetId });
  const requestId = await service.exported({ id: datasetId, visa, publicKey: recipient.publicKey });
  const messages = caller === 'stage-file' ? files : 1;
  await until(async () => (await service.queueDepth(queueUrl)) === messages || undefined, 'the dead letters', 90_000);
  undo();
  return { requestId, visa };
}

async function expectDelivered(requestId: string, files: number): Promise<void> {
  const steps = await service.settled(requestId, files);
  expect(steps.filter(({ event }) => event === 'staged')).toHaveLength(files);
  await until(async () => (await areQueuesEmpty(service)) || undefined, 'the queues to be empty');
  const [[state] = []] = await service.sql(`select state from data_out.requests where request_id = '${requestId}'`);
  expect(state).toBe('complete');
  expect((await service.outboxKeys(subject)).filter((key) => key.endsWith('.c4gh'))).toHaveLength(files);
}

test('files that failed are listed, shown, and sent back once the cause is gone', { timeout: 150_000 }, async () => {
  const { requestId } = await failed('stage-file', 2, service.connection.outputs.SmallFileExportsDeadLetterQueueUrl);
  const { letters } = await run('list', '--json', '--queue', 'small-file-exports');
  expect(letters).toMatchObject(
    [0, 1].map(() => ({ queue: 'small-file-exports', requestId, datasetId, lastFailure: expect.any(String) })),
  );
  expect(letters.map(({ fileId }) => fileId).sort()).toEqual([`EGAF${datasets}00`, `EGAF${datasets}01`]);
  const messageId = letters[0]?.messageId ?? '';
  expect((await run('show', messageId)).stdout).toContain(messageId);

  expect(await run('replay', '--message', messageId, '--yes')).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('replayed 1 message'),
  });
  await service.settled(requestId, 1);
  expect((await run('list', '--json')).letters.map(({ messageId: id }) => id)).toEqual([letters[1]?.messageId]);
  expect(await run('replay', '--request', requestId, '--yes')).toMatchObject({ exitCode: 0 });
  await expectDelivered(requestId, 2);
});

test('a request is replayed with its visa, its id and its time, and the visa is not shown', {
  timeout: 150_000,
}, async () => {
  const { ExportRequestsDeadLetterQueueUrl: deadQueue } = service.connection.outputs;
  const { requestId, visa } = await failed('consume-export', 1, deadQueue);
  const said = [
    await run('list'),
    await run('list', '--json'),
    await run('replay', '--queue', 'export-requests', '--yes'),
  ];
  await expectDelivered(requestId, 1);
  const texts = said.map(({ stdout, stderr }) => stdout + stderr).join('\n');
  expect(texts).toContain(requestId);
  for (const part of visa.split('.')) expect(texts).not.toContain(part);
});

test('the request of an erased person is deleted, and another one stays', { timeout: 240_000 }, async () => {
  const { ExportRequestsDeadLetterQueueUrl: deadQueue } = service.connection.outputs;
  await failed('consume-export', 1, deadQueue);
  const { iss } = service.connection.issuer;
  expect(await ops('erase', '--subject', `${iss},another`, '--yes')).toMatchObject({ exitCode: 0 });
  expect(await service.queueDepth(deadQueue)).toBe(1);
  expect(await ops('erase', '--subject', `${iss},${subject}`, '--yes')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('1 dead letter deleted'),
  });
  expect(await service.queueDepth(deadQueue)).toBe(0);
});

test('a crash between sending and deleting leaves the message in both queues, which does no harm', {
  timeout: 150_000,
}, async () => {
  const queueUrl = service.connection.outputs.SmallFileExportsDeadLetterQueueUrl;
  const { requestId } = await failed('stage-file', 1, queueUrl);
  breakCalls(({ caller, action }) =>
    caller.includes('Redrive') && action === 'DeleteMessage' ? { drop: true } : undefined,
  );
  expect(await run('replay', '--request', requestId, '--yes')).toMatchObject({ exitCode: 7 });
  undo();
  await expectDelivered(requestId, 1);
  const before = await service.object('OutboxBucketName', (await service.outboxKeys(subject))[0] ?? '');
  expect(await service.queueDepth(queueUrl)).toBe(1);

  await until(
    async () => (await run('replay', '--request', requestId, '--yes')).exitCode === 0 || undefined,
    'it again',
  );
  expect(await service.queueDepth(queueUrl)).toBe(0);
  await expectDelivered(requestId, 1);
  expect(await service.object('OutboxBucketName', (await service.outboxKeys(subject))[0] ?? '')).toEqual(before);
});

test('without the role nothing is looked at', async () => {
  breakCalls(({ service: name }) => (name === 'sts' ? { error: { status: 403, code: 'AccessDenied' } } : undefined));
  const { exitCode, stderr } = await run('list');
  expect(exitCode).toBe(3);
  expect(stderr).toContain(`may not take on the role ${service.connection.outputs.RedriveRoleArn}`);
});

test('while the key is disabled, the command says what to do', async () => {
  breakCalls(({ action }) =>
    action === 'ReceiveMessage' ? { error: { status: 400, code: 'KmsDisabled' } } : undefined,
  );
  const { exitCode, stderr } = await run('list', '--queue', 'export-requests');
  expect([exitCode, stderr]).toEqual([3, expect.stringContaining('enable the key ExportRequestsKey')]);
});

test('no function may take on the role, and no caller the role of a function', async () => {
  const { endpoints, region, credentials, outputs } = service.connection;
  const { principal } = service.engine.functions.definition('stage-file');
  const { accessKeyId, secretAccessKey, sessionToken = '' } = principal;
  const assume = (given: STSClient['config']['credentials'] | object, RoleArn: string) =>
    new STSClient({ region, endpoint: endpoints.sts, credentials: given as typeof credentials }).send(
      new AssumeRoleCommand({ RoleArn, RoleSessionName: 'a-test' }),
    );
  const denied = { name: 'AccessDenied' };
  const ofFunction = { accessKeyId, secretAccessKey, sessionToken };
  await expect(assume(ofFunction, outputs.RedriveRoleArn)).rejects.toMatchObject(denied);
  await expect(assume(credentials, principal.arn)).rejects.toMatchObject(denied);
  expect((await assume(credentials, outputs.RedriveRoleArn)).Credentials?.SessionToken).toEqual(expect.any(String));
});
