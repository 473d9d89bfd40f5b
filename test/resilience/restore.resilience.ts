import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { Database } from '../../lib/local/rds-data/database.ts';
import { assembly } from '../helpers/assembly.ts';
import { areQueuesEmpty } from '../helpers/broken-calls.ts';
import { opsProcess } from '../helpers/ops-process.ts';
import { blocksOf } from '../helpers/pages.ts';
import { Service, until } from '../helpers/service.ts';

/** The steps of docs/restore.md, one test each, after the database was lost and restored to the time A. */
const page = 'docs/restore.md';
/** Deprecated after A. */
const withdrawn = 'EGAD00000000001';
/** Released at A, and still. */
const kept = 'EGAD00000000002';
/** Deprecated before A. */
const closed = 'EGAD00000000004';
/** Released after A. */
const later = 'EGAD00000000003';
/** Removed after A, with its body. */
const removed = 'EGAF00000000001';
const user = { username: 'jane', password: 'a password of a user' };
const recipient = generateKeyPair();

let folder: string;
let dataDir: string;
let service: Service;
const request: Record<string, string> = {};
const visas: Record<string, string> = {};
let timeA: Date;
/** What step 2 saves. */
let lost: { datasets: string; users: string; audit: string };
/** What the log of `Withdraw` has of the time before. */
let withdrawLog: readonly string[];
/** What step 4 keeps. */
let stateAtA: readonly (readonly (string | null)[])[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-restore-'));
  dataDir = join(folder, 'data');
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const order = async (name: string, datasetId: string) => {
  visas[name] = await service.visa({ subject: name, datasetId });
  request[name] = await service.exported({ id: datasetId, visa: visas[name], publicKey: recipient.publicKey });
  return request[name];
};
const ops = async (...argv: string[]) => {
  const run = await opsProcess(argv, { connectionPath: service.engine.connectionPath });
  expect([argv, run.stderr, run.exitCode]).toEqual([argv, run.stderr, 0]);
  return run.stdout;
};
const databaseFolder = () => join(dataDir, 'postgres');
const stateOf = async (datasetId: string) => JSON.parse(await ops('dataset', 'show', datasetId, '--json')).newestEvent;
const isActive = async (username: string) =>
  (await ops('user', 'list')).split('\n').some((line) => line.startsWith(username) && line.includes('active'));
const directly = async (datasetId: string) =>
  (await service.direct(`metadata/datasets/${datasetId}/files`, await service.visa({ datasetId }))).status;

/** The assembly with event sources that are off, as step 1 leaves them. */
async function withoutWorkers(): Promise<string> {
  const output = join(folder, 'stopped');
  cpSync(await assembly(), output, { recursive: true });
  const path = join(output, 'DataOutService.template.json');
  const template = JSON.parse(readFileSync(path, 'utf8'));
  for (const { Type, Properties } of Object.values<{ Type: string; Properties: object }>(template.Resources)) {
    if (Type === 'AWS::Lambda::EventSourceMapping') Object.assign(Properties, { Enabled: false });
  }
  writeFileSync(path, JSON.stringify(template));
  return output;
}

describe('before the accident', () => {
  test('a copy is taken at A', { timeout: 90_000 }, async () => {
    service = await Service.start({ dataDir });
    for (const datasetId of [withdrawn, kept, later, closed]) {
      await service.archive(datasetId, `${datasetId}.vcf`, 900, datasetId.replace('EGAD', 'EGAF'));
    }
    for (const datasetId of [withdrawn, kept, closed]) await service.setDataset(datasetId, 'released');
    await service.setDataset(closed, 'deprecated');
    await service.addArchiveUser(user.username, user.password);
    await service.settled(await order('before', kept));
    await until(async () => (await areQueuesEmpty(service)) || undefined, 'the queues to be empty');
    await service.stop();
    cpSync(databaseFolder(), join(folder, 'copy'), { recursive: true });
    timeA = new Date();
  });

  test('much happens after A', { timeout: 90_000 }, async () => {
    service = await Service.start({ dataDir });
    await service.settled(await order('after', kept));
    await service.settled(await order('after, withdrawn', withdrawn));
    await ops('dataset', 'deprecate', withdrawn);
    await ops('dataset', 'release', later);
    await ops('user', 'disable', user.username);
    await ops('visa', 'deny', '--issuer', service.connection.issuer.iss, '--subject', 'denied');
    expect(await service.engine.functions.invoke('withdraw', {})).toMatchObject({ ok: true });
    await ops('archive', 'remove', removed, '--yes');
    lost = {
      datasets: await ops('dataset', 'list', '--json'),
      users: await ops('user', 'list', '--json'),
      audit: await ops('audit', '--limit', '100000', '--json'),
    };
    withdrawLog = service.logs.filter(({ functionName }) => functionName === 'withdraw').map(({ line }) => line);
    // The workers stop, and requests go on to be accepted.
    await service.stop();
    service = await Service.start({ dataDir, assemblyDir: await withoutWorkers() });
    await order('waiting', kept);
    await order('waiting, withdrawn', withdrawn);
    await order('denied', kept);
    await service.stop();
  });
});

describe('the restored past', () => {
  const open = async <T>(work: (database: Database) => Promise<T>): Promise<T> => {
    const database = await Database.open(databaseFolder());
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  };

  test('has a withdrawn dataset released again, until step 4 closes all', async () => {
    rmSync(databaseFolder(), { recursive: true });
    cpSync(join(folder, 'copy'), databaseFolder(), { recursive: true });
    const [look = '', close = ''] = blocksOf(page)
      .filter(({ language }) => language === 'sql')
      .map(({ text }) => text);
    await open(async (database) => {
      stateAtA = (await database.run(look, [])).rows;
      expect(stateAtA).toEqual([
        [withdrawn, 'released'],
        [kept, 'released'],
        [later, 'registered'],
        [closed, 'deprecated'],
      ]);
      await database.run(close, []);
      const events = (await database.run(look, [])).rows.map(([, event]) => event);
      expect(events).toEqual(['registered', 'registered', 'registered', 'deprecated']);
    });
  });

  test('gives out nothing, and deletes nothing', { timeout: 60_000 }, async () => {
    service = await Service.start({ dataDir, assemblyDir: await withoutWorkers() });
    for (const datasetId of [withdrawn, kept, later, closed]) expect(await directly(datasetId)).toBe(403);
    const before = await service.outboxKeys();
    expect(await service.engine.functions.invoke('withdraw', {})).toMatchObject({ ok: true });
    expect(await service.outboxKeys()).toEqual(before);
    expect(before).toHaveLength(3);
    // Without their rows, no filter finds them.
    const unknown = await ops('outbox', 'list', '--dataset', withdrawn, '--json');
    expect(unknown).toBe('');
  });

  test('is cleared of what the outbox got after A, in step 6', async () => {
    const Bucket = service.connection.outputs.OutboxBucketName;
    const { Contents = [] } = await service.s3.send(new ListObjectsV2Command({ Bucket }));
    for (const { Key, LastModified } of Contents) {
      if (LastModified && LastModified >= timeA) await service.s3.send(new DeleteObjectCommand({ Bucket, Key }));
    }
    expect(await service.list(visas.before ?? '')).toHaveLength(1);
    for (const name of ['after', 'after, withdrawn']) expect(await service.listAll(visas[name] ?? '')).toEqual([]);
  });

  test('is compared with what the lost database told: step 7 finds each decision', async () => {
    const atA = new Map(stateAtA.map(([id, event]) => [id, event]));
    const datasets = lost.datasets
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const changed = datasets.filter(({ datasetId, newestEvent }) => atA.get(datasetId) !== newestEvent);
    expect(changed.map(({ datasetId, newestEvent }) => [datasetId, newestEvent])).toEqual([
      [withdrawn, 'deprecated'],
      [later, 'released'],
    ]);
    expect(lost.users).toMatch(/"username":"jane".*"disabledAt":"/);
    expect(await isActive(user.username)).toBe(true);
    const events = lost.audit
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const gone = events.filter(({ event }) => event === 'removed').map(({ fileId }) => fileId);
    expect(gone).toEqual([removed]);
    expect(await ops('archive', 'show', removed)).toContain(removed);
  });

  test('the log of Withdraw names the withdrawn dataset, if the lost database does not answer', () => {
    const found = withdrawLog.filter((line) => line.includes('withdrawn dataset in the outbox'));
    expect(found).toEqual([expect.stringContaining(withdrawn)]);
  });

  test('is made right by the commands of step 7', { timeout: 60_000 }, async () => {
    const block = blocksOf(page).find(({ comment }) => comment?.includes('restore.resilience.ts'));
    const commands = (block?.text ?? '').trim().split('\n');
    expect(commands).toHaveLength(3);
    for (const command of commands) {
      const [npx, program, ...argv] = command.replace(/ +#.*/, '').split(' ');
      expect([npx, program]).toEqual(['npx', 'data-out-ops']);
      await ops(...argv);
    }
    expect(await Promise.all([withdrawn, kept, later].map(stateOf))).toEqual(['deprecated', 'released', 'registered']);
    expect(await isActive(user.username)).toBe(false);
    await ops('archive', 'remove', removed, '--yes');
    expect(await ops('archive', 'list', '--dataset', withdrawn)).toBe('');
    expect([await directly(withdrawn), await directly(kept)]).toEqual([403, 200]);
  });
});

describe('after step 8', () => {
  test('what waited is carried out, and what may not be given out is refused', { timeout: 90_000 }, async () => {
    await service.stop();
    service = await Service.start({ dataDir });
    const ends = ['waiting', 'waiting, withdrawn', 'denied'].map(async (name) => {
      const rows = await service.settled(request[name] ?? '');
      return rows.map(({ event, reason }) => reason ?? event);
    });
    expect(await Promise.all(ends)).toEqual([['accepted', 'staged'], ['not_released'], ['visa_denied']]);
    expect(await service.list(visas['waiting, withdrawn'] ?? '')).toEqual([]);
    expect(await service.engine.functions.invoke('sweep-deliveries', {})).toMatchObject({ ok: true });
    expect(await service.engine.functions.invoke('withdraw', {})).toMatchObject({ ok: true });
  });

  test('a lost export is ordered again', { timeout: 60_000 }, async () => {
    await service.settled(await order('after', kept));
    expect(await service.list(visas.after ?? '')).toHaveLength(1);
    expect((await service.list(visas.before ?? '')).length).toBe(1);
  });
});
