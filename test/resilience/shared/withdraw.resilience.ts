import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { settings } from '../../../bin/settings.ts';
import { isReceiptName } from '../../../lib/contract/delivery.ts';
import { formatPublicKey, generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { localTarget } from '../../../lib/ops/target.ts';
import { assembly } from '../../helpers/assembly.ts';
import { runTool } from '../../helpers/ops-world.ts';
import { Service, until } from '../../helpers/service.ts';
import { templatesOf } from '../../helpers/synthesized.ts';

const recipient = generateKeyPair();
const jane = 'researcher';
let service: Service;

/** Copy the assembly to a folder, with the policy and the mode that `withdrawal: 'purge'` gives to the function. */
async function copyThatPurges(folder: string): Promise<string> {
  cpSync(await assembly(), folder, { recursive: true });
  const wanted = templatesOf({ ...settings, withdrawal: 'purge' }).served.toJSON().Resources;
  const path = join(folder, 'DataOutService.template.json');
  const template = JSON.parse(readFileSync(path, 'utf8'));
  for (const [id, resource] of Object.entries<{ Type: string; Properties: Record<string, unknown> }>(wanted)) {
    if (!id.startsWith('FunctionsWithdraw')) continue;
    const { PolicyDocument, Environment } = resource.Properties;
    Object.assign(
      template.Resources[id].Properties,
      PolicyDocument && { PolicyDocument },
      Environment && { Environment },
    );
  }
  writeFileSync(path, JSON.stringify(template));
  return folder;
}

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

  test('a released dataset is left alone, and counted as nothing', async () => {
    expect(await run()).toMatchObject({ ok: true });
    expect(lines().join('\n')).toContain('"WithdrawnInOutbox":0');
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

describe("with withdrawal: 'purge'", () => {
  const folder = mkdtempSync(join(tmpdir(), 'data-out-purge-'));
  beforeAll(async () => {
    service = await Service.start({ assemblyDir: await copyThatPurges(folder) });
  });
  afterAll(async () => {
    await service?.stop();
    rmSync(folder, { recursive: true });
  });

  test('containers of a deprecated dataset go, once, and those of another dataset stay', async () => {
    const fileIds = await filesIn('EGAD11', ['a.bam', 'b.bam']);
    const [other = ''] = await filesIn('EGAD12', ['c.bam']);
    const requestId = await exported('EGAD11', 2);
    const kept = await exported('EGAD12', 1);
    await service.setDataset('EGAD11', 'deprecated');
    for (const _ of [1, 2]) expect(await run()).toMatchObject({ ok: true });
    expect(await namesOf()).toEqual([other]);
    expect(await withdrawn(requestId)).toEqual(
      [...fileIds]
        .sort()
        .map((fileId) =>
          expect.objectContaining({ event: 'withdrawn', fileId, recipient: service.prefix(jane), bytes: 3_124 + 28 }),
        ),
    );
    for (const fileId of fileIds) expect(await stateOf(requestId, fileId)).toEqual(['withdrawn', null]);
    expect(await withdrawn(kept)).toEqual([]);
  });

  test('a container of direct access goes, too', async () => {
    // So large that S3 makes the container.
    const { fileId } = await service.archive('EGAD41', 'large.bam', 7_000_000);
    await service.setDataset('EGAD41', 'released');
    const visa = await service.visa({ datasetId: 'EGAD41' });
    const reply = await service.direct(`files/${fileId}?destinationFormat=CRYPT4GH`, visa, {
      headers: { 'Public-Key': Buffer.from(formatPublicKey(recipient.publicKey)).toString('base64') },
    });
    expect(reply.status).toBe(307);
    const direct = async () => (await keys()).filter((key) => key.startsWith('direct/'));
    expect(await direct()).toHaveLength(1);
    await service.setDataset('EGAD41', 'deprecated');
    expect(await run()).toMatchObject({ ok: true });
    expect(await direct()).toEqual([]);
    expect(service.logs.filter(({ line }) => /"(level)":"ERROR"/.test(line))).toEqual([]);
  });
});
