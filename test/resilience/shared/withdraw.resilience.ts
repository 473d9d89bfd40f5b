import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isReceiptName } from '../../../lib/contract/delivery.ts';
import { generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { localTarget } from '../../../lib/ops/target.ts';
import { runTool } from '../../helpers/ops-world.ts';
import { Service, until } from '../../helpers/service.ts';

const recipient = generateKeyPair();
const jane = 'researcher';
let service: Service;

/** Archive files, also put each into other datasets, and release all. @returns their ids */
async function filesIn(datasetId: string, names: readonly string[], others: readonly string[] = []) {
  const ids: string[] = [];
  for (const name of names) {
    const { fileId } = await service.archive(datasetId, name, 3_000);
    ids.push(fileId);
    for (const other of others) await localTarget(service.connection).catalogue.addToDataset(fileId, other);
  }
  for (const dataset of [datasetId, ...others]) await service.setDataset(dataset, 'released');
  return ids;
}

async function exported(datasetId: string, files: number): Promise<string> {
  const visa = await service.visa({ datasetId });
  const requestId = await service.exported({ id: datasetId, visa, publicKey: recipient.publicKey });
  await service.settled(requestId, files);
  return requestId;
}

const run = () => service.engine.functions.invoke('withdraw', {});
const lines = () => service.logs.filter(({ functionName }) => functionName === 'withdraw').map(({ line }) => line);
const keys = () => service.outboxKeys();
const namesOf = async () => (await keys()).map((key) => key.replace(/^.*\/(EGAF\d+)-.*$/, '$1')).sort();
const withdrawn = async (requestId: string) => {
  const rows = await service.audit(requestId);
  return rows.filter(({ event }) => event === 'withdrawn' || event === 'purged');
};
const stateOf = async (requestId: string, fileId: string) => {
  const where = `request_id = '${requestId}' and file_id = '${fileId}'`;
  return (await service.sql(`select state, superseded_by from data_out.request_files where ${where}`))[0];
};
const ops = (...argv: string[]) => runTool(argv, localTarget(service.connection));

describe('by default', () => {
  let requestId: string;
  let fileIds: readonly string[];
  beforeAll(async () => {
    service = await Service.shared();
    fileIds = await filesIn('EGAD1', ['a.bam', 'b.bam']);
    requestId = await exported('EGAD1', 2);
    // The operator purges no outbox while a request of the person is open.
    await until(async () => ((await service.allOutboxKeys()).some(isReceiptName) ? true : undefined), 'the receipt');
  });
  afterAll(() => service?.stop());
  beforeEach(() => {
    service.logs.length = 0;
  });

  test('containers of a deprecated dataset are counted, and stay', async () => {
    await service.setDataset('EGAD1', 'deprecated');
    expect(await run()).toMatchObject({ ok: true });
    expect(lines().join('\n')).toContain('"WithdrawnInOutbox":2');
    expect(lines().join('\n')).toContain('"datasetId":"EGAD1","found":2,"removed":0');
    expect(await namesOf()).toEqual([...fileIds].sort());
  });

  test('the operator lists them, sees who has them, and purges them', async () => {
    const subject = `${service.connection.issuer.iss},${jane}`;
    const listed = (await ops('outbox', 'list', '--dataset', 'EGAD1', '--json')).stdout;
    expect(listed.trim().split('\n')).toHaveLength(2);
    expect((await ops('outbox', 'list', '--subject', subject, '--json')).stdout).toBe(listed);
    expect((await ops('outbox', 'purge', '--subject', subject)).stderr).toContain('add --yes');
    expect(await keys()).toHaveLength(2);

    const { exitCode, stdout } = await ops('outbox', 'purge', '--request', requestId, '--yes');
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('purged 2 containers')]);
    expect(await keys()).toEqual([]);
    expect(await withdrawn(requestId)).toEqual(
      [...fileIds].sort().map((fileId) => expect.objectContaining({ event: 'purged', fileId, datasetId: 'EGAD1' })),
    );
    for (const fileId of fileIds) expect(await stateOf(requestId, fileId)).toEqual(['withdrawn', null]);
    expect((await ops('outbox', 'list', '--subject', subject)).stderr).toContain('no such container');
    const told = (await ops('audit', '--subject', subject, '--json')).stdout;
    expect(told.match(/"event":"(staged|purged)"/g)).toHaveLength(4);
    await run();
    expect(lines().join('\n')).toContain('"WithdrawnInOutbox":0');
  });
});
