import { STSClient } from '@aws-sdk/client-sts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { operatorQueues } from '../../../lib/ops/stores/operator-role.ts';
import { fileExportsQueue } from '../../../lib/service/stores/queues.ts';
import { ExportPipeline, hoursFromNow, subject } from '../../helpers/export-pipeline.ts';
import { httpHandler, testClient } from '../../helpers/http-handler.ts';
import { makeOpsWorld, type OpsWorld, runTool } from '../../helpers/ops-world.ts';

const request = '11111111-1111-4111-8111-111111111111';

let exports: ExportPipeline;
let world: OpsWorld;
/** A request of three files, of which two were given up because their bodies were missing. They are back. */
beforeEach(async () => {
  exports = await ExportPipeline.open();
  world = await makeOpsWorld(exports);
  await exports.addDataset('EGAD1', ['EGAF1', 'EGAF2', 'EGAF3']);
  for (const fileId of ['EGAF2', 'EGAF3']) exports.archive.delete(`bodies/${fileId}`);
  exports.request(undefined, { id: request });
  await exports.deliverAll();
  for (const fileId of ['EGAF2', 'EGAF3']) exports.archive.set(`bodies/${fileId}`, Buffer.alloc(100, fileId));
});
const run = (...argv: string[]) => runTool(['exports', 'retry', ...argv], world.target);
const givenUp = ['EGAF1: staged', 'EGAF2: given_up archive_damaged', 'EGAF3: given_up archive_damaged'];

describe('exports retry', () => {
  test('stages the files again that were given up, and nothing the second time', async () => {
    expect(await exports.statesOf(request)).toEqual(givenUp);
    expect(await run(request.toUpperCase())).toEqual({
      ...{
        exitCode: 0,
        stdout: `2 files of ${request} will be staged again\n`,
        stderr: 'target: a deployment in memory\n',
      },
    });
    await exports.deliverAll();
    expect(await exports.statesOf(request)).toEqual(['EGAF1: staged', 'EGAF2: staged', 'EGAF3: staged']);
    expect(await exports.requestRow(request)).toMatchObject({ state: 'complete', revision: 2, settled_revision: 2 });
    const again = await run(request);
    expect(again).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('note: no such file was given up') });
    expect(await exports.requestRow(request)).toMatchObject({ revision: 2 });
  });

  test('sends what a failure left, when it is run again', async () => {
    const { send } = world.target.retrying.smallFileExports;
    world.target.retrying.smallFileExports.send = () => Promise.reject(new Error('no'));
    expect((await run(request)).exitCode).toBe(1);
    world.target.retrying.smallFileExports.send = send;
    expect(JSON.parse((await run(request, '--json')).stdout)).toEqual({ requestId: request, reopened: 0, sent: 2 });
  });

  const database = (sql: string) => exports.database.sql(sql);
  const expired = `visa_expires_at = '${hoursFromNow(-1).toISOString()}'`;
  const requests = (change: string) => () => database(`update data_out.requests set ${change}`);
  const noQuota = { quota: { gib: 0, expiryDays: 30 } };
  const unknown = '22222222-2222-4222-8222-222222222222';
  test.each<[string, () => unknown, string?, number?]>([
    ['<request>: expected the id of a request', () => undefined, 'yesterday', 2],
    [`there is no request ${unknown}`, () => undefined, unknown, 4],
    ['it was rejected, so it has no files', requests("state = 'rejected', reason = 'not_entitled'")],
    ['the recipient was erased', requests('recipient = null')],
    ['the token has expired', requests(expired)],
    ['has denied this token or its subject', () => exports.denied.push(subject)],
    ['the newest event of the dataset is not "released"', () => exports.event('EGAD1', 'deprecated')],
    ['would hold more than the operator allows', () => Object.assign(world.target.retrying, noQuota)],
  ])('refuses: %s', async (sentence, prepare, id = request, exitCode = 9) => {
    await prepare();
    const refused = await run(id);
    expect(refused).toMatchObject({ exitCode, stdout: '' });
    expect(refused.stderr).toContain(sentence);
    expect(await exports.statesOf(request)).toEqual(givenUp);
  });
});

describe('the role of the work queues', () => {
  afterEach(() => vi.restoreAllMocks());

  test('that the caller may not take on is named, and what was reopened waits for another run', async () => {
    vi.spyOn(STSClient.prototype, 'send').mockImplementation(() =>
      Promise.reject(Object.assign(new Error('no'), { name: 'AccessDenied' })),
    );
    const client = operatorQueues('arn:aws:iam::000000000000:role/operator', () => ({
      ...testClient,
      requestHandler: httpHandler(() => Promise.reject(new Error('unexpected request'))),
    }));
    Object.assign(world.target.retrying, {
      smallFileExports: fileExportsQueue({ client, queueUrl: 'https://sqs.example/q' }),
    });
    const refused = await run(request);
    expect(refused).toMatchObject({ exitCode: 3, stdout: '' });
    expect(refused.stderr).toContain(
      'may not take on the role arn:aws:iam::000000000000:role/operator: allow sts:AssumeRole',
    );
    expect(await exports.statesOf(request)).toEqual(['EGAF1: staged', 'EGAF2: waiting', 'EGAF3: waiting']);
  });
});
