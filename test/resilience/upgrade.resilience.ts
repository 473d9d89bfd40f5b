import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { assembly } from '../helpers/assembly.ts';
import { areQueuesEmpty } from '../helpers/broken-calls.ts';
import { sha256 } from '../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../helpers/made-files.ts';
import { opsProcess } from '../helpers/ops-process.ts';
import { previousAssembly } from '../helpers/previous-release.ts';
import { receive } from '../helpers/receive.ts';
import { Service, until } from '../helpers/service.ts';

/**
 * An upgrade of the previous release, on one data folder. Requests and files are under way when its functions end, and some are
 * among the dead letters. What callers meet between the first new function and the last: rolling-update.resilience.ts.
 */
const datasetId = 'EGAD00000000001';
/** A large file would use up a hundred receives on its way to the dead letters. */
const smallDatasetId = 'EGAD00000000002';
const archived: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  [datasetId]: { 'small.vcf': 5000, 'empty.txt': 0, 'large.bam': 8_600_000 },
  [smallDatasetId]: { 'other.vcf': 700 },
};
const recipient = generateKeyPair();

interface Export {
  readonly requestId: string;
  readonly visa: string;
  readonly files: Readonly<Record<string, number>>;
}

let folder: string;
let service: Service;
let begun: Export[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-upgrade-'));
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function start(assemblyDir: string): Promise<void> {
  await service?.stop();
  service = await Service.start({ assemblyDir, dataDir: join(folder, 'data') });
}

async function exported(id = datasetId): Promise<Export> {
  const visa = await service.visa({ subject: randomUUID(), datasetId: id });
  const requestId = await service.exported({ id, visa, publicKey: recipient.publicKey });
  return { requestId, visa, files: archived[id] ?? {} };
}

/** What a recipient has of an export: each file is listed, downloaded and decrypted. */
async function expectDelivered({ requestId, visa, files }: Export): Promise<void> {
  await until(
    async () => ((await stateOf(requestId)) === 'complete' ? true : undefined),
    `${requestId} to be complete`,
    90_000,
  );
  const listed = await service.listAll(visa);
  expect(listed.filter(({ fileName }) => fileName.endsWith('.delivery.jws'))).toHaveLength(1);
  for (const [path, size] of Object.entries(files)) {
    const { fileName = '' } = listed.find((file) => file.fileName.endsWith(`-${path}.c4gh`)) ?? {};
    const container = await service.download(visa, fileName);
    const opened = await receive(once(container), recipient.privateKey);
    expect([path, opened.plaintextSha256]).toEqual([path, await digestOf(path, size)]);
  }
  expect(listed).toHaveLength(Object.keys(files).length + 1);
}

async function stateOf(requestId: string): Promise<string | null | undefined> {
  return (await service.sql(`select state from data_out.requests where request_id = '${requestId}'`))[0]?.[0];
}

async function digestOf(path: string, size: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytesOf({ path, size })) chunks.push(chunk);
  return sha256(Buffer.concat(chunks));
}

async function* once(bytes: Uint8Array) {
  yield bytes;
}

/** Exports that are under way when the engine stops: one whose files are being staged, and one that nothing has read. */
async function leaveUnderWay(): Promise<Export[]> {
  const staging = Promise.withResolvers<void>();
  const consuming = Promise.withResolvers<void>();
  let isSecond = false;
  service.engine.traffic.addFault(({ caller, service: name }) => {
    if (caller === 'stage-file' && name === 's3') {
      staging.resolve();
      return { delayMs: 120_000 };
    }
    if (caller !== 'consume-export' || !isSecond) return undefined;
    consuming.resolve();
    return { delayMs: 120_000 };
  });
  const first = await exported();
  await staging.promise;
  isSecond = true;
  const second = await exported();
  await consuming.promise;
  return [first, second];
}

/** An export whose files or whose request end among the dead letters, because calls of a function fail. */
async function leaveDead(caller: 'consume-export' | 'stage-file', api: 's3' | 'rds-data'): Promise<Export> {
  const undo = service.engine.traffic.addFault((call) =>
    call.caller === caller && call.service === api ? { error: { status: 403, code: 'AccessDenied' } } : undefined,
  );
  const dead = await exported(smallDatasetId);
  const { outputs } = service.connection;
  const url =
    caller === 'stage-file' ? outputs.SmallFileExportsDeadLetterQueueUrl : outputs.ExportRequestsDeadLetterQueueUrl;
  await until(async () => ((await service.queueDepth(url)) === 1 ? true : undefined), 'the dead letters', 90_000);
  undo();
  return dead;
}

describe('with the previous release', () => {
  test('a deployment works', { timeout: 400_000 }, async () => {
    await start(await previousAssembly());
    for (const [id, files] of Object.entries(archived)) {
      for (const [path, size] of Object.entries(files)) await service.archive(id, path, size);
      await service.setDataset(id, 'released');
    }
    const whole = await exported();
    await expectDelivered(whole);
    const dead = [await leaveDead('stage-file', 's3'), await leaveDead('consume-export', 'rds-data')];
    old = { whole, dead };
    begun = await leaveUnderWay();
  });
});

let old: { readonly whole: Export; readonly dead: readonly Export[] };

describe('with this release', () => {
  test('what was under way is delivered, and so is what comes now', { timeout: 300_000 }, async () => {
    await start(await assembly());
    for (const one of [...begun, await exported()]) await expectDelivered(one);
  });

  test('what the previous release has delivered can be listed, downloaded and decrypted', async () => {
    await expectDelivered(old.whole);
  });

  test('dead letters of the previous one are replayed', { timeout: 300_000 }, async () => {
    for (const queue of ['small-file-exports', 'export-requests']) {
      const argv = ['dead-letters', 'replay', '--queue', queue, '--yes'];
      expect(await opsProcess(argv, { connectionPath: service.engine.connectionPath })).toMatchObject({ exitCode: 0 });
    }
    for (const dead of old.dead) await expectDelivered(dead);
    await until(async () => (await areQueuesEmpty(service)) || undefined, 'the queues to be empty');
  });
});
