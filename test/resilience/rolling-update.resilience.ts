import { randomUUID } from 'node:crypto';
import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeliveryReceipt } from '../../lib/contract/delivery.ts';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { loadAssembly } from '../../lib/local/template/assembly.ts';
import type { AddedFile } from '../../lib/ops/archive/add-file.ts';
import { assembly } from '../helpers/assembly.ts';
import { areQueuesEmpty } from '../helpers/broken-calls.ts';
import { collect, sha256 } from '../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../helpers/made-files.ts';
import type { RawReply } from '../helpers/raw-http.ts';
import { receive } from '../helpers/receive.ts';
import { Service, until } from '../helpers/service.ts';

/**
 * An update while the service serves: the engine replaces every function as CloudFormation does, one resource after another, and
 * goes back again. Callers ask again and again, without a second try. Beside that, each of them asks once after
 * each step, and the next step waits for the answer.
 */
const datasetId = 'EGAD00000000001';
const archived: Readonly<Record<string, number>> = { 'small.vcf': 5000, 'empty.txt': 0 };
/** More than Lambda gives in one reply that is not a stream. */
const large = { path: 'large.bam', size: 7_000_000 };
const largeDatasetId = 'EGAD00000000002';
const recipient = generateKeyPair();
/** What no caller can meet. */
const withoutCallers = /^AWS::(CloudWatch|Events|Logs|SNS)::|::Version$/;

interface Ordered {
  readonly requestId: string;
  readonly visa: string;
}

let folder: string;
/** Assembly with other bundles than this release's. */
let former: string;
let service: Service;
let largeFile: AddedFile;
let largeBytes: Buffer;
const ordered: Ordered[] = [];
/** Answers that are neither those of before nor those of after, with the step in which they came. */
const wrong: string[] = [];
let isOver = false;
let step = 'before';

interface Caller {
  readonly name: string;
  /** @throws Error for an answer that is neither that of before nor that of after */
  readonly ask: () => Promise<void>;
  readonly pauseMs?: number;
}

async function askOnce({ name, ask }: Caller): Promise<void> {
  const begun = step;
  try {
    await ask();
  } catch (error) {
    wrong.push(`${name}, asked at "${begun}", answered at "${step}": ${String(error)}`);
  }
}

async function keepAsking(caller: Caller): Promise<void> {
  while (!isOver) {
    await askOnce(caller);
    await pause(caller.pauseMs ?? 20);
  }
}

let callers: readonly Caller[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-rolling-'));
  former = join(folder, 'former');
  await copyWithOtherBundles(former);
  service = await Service.start({ assemblyDir: former, dataDir: join(folder, 'data') });
  for (const [path, size] of Object.entries(archived)) await service.archive(datasetId, path, size);
  largeFile = await service.archive(largeDatasetId, large.path, large.size);
  largeBytes = await collect(bytesOf(large));
  for (const id of [datasetId, largeDatasetId]) await service.setDataset(id, 'released');
  const first = await order();
  await expectDelivered(first);
  const visa = await service.visa({ datasetId: largeDatasetId });
  /** What both say of a file. */
  const list = async () =>
    (await service.listAll(first.visa)).map(({ fileName, size, href }) => ({ fileName, size, href }));
  const listed = await list();
  callers = [
    // Fewer: each order is looked at in the end.
    { name: 'an order', ask: async () => void ordered.push(await order()), pauseMs: 1000 },
    { name: 'a listing', ask: async () => expectSame(await list(), listed) },
    {
      name: 'a download by redirect',
      ask: async () => {
        const { fileName = '' } = listed.find((file) => file.fileName.endsWith('-small.vcf.c4gh')) ?? {};
        await expectPlaintext(await service.download(first.visa, fileName), 'small.vcf');
      },
    },
    {
      name: 'a range of a stream',
      ask: async () => {
        const headers = { Range: 'bytes=70000-200000' };
        expectBytes(await fileOf(visa, headers), 206, largeBytes.subarray(70_000, 200_001));
      },
    },
    { name: 'a whole stream', ask: async () => expectBytes(await fileOf(visa), 200, largeBytes), pauseMs: 300 },
    {
      name: 'direct access',
      ask: async () => {
        const reply = await service.direct(`metadata/datasets/${datasetId}/files`, await service.visa({ datasetId }));
        expectSame([reply.status, reply.status === 200 && JSON.parse(reply.text).length], [200, 2]);
      },
    },
    {
      name: 'an administrator',
      ask: async () => {
        const { admin } = service.connection;
        const authorization = `Basic ${Buffer.from(`${admin.username}:${admin.password}`).toString('base64')}`;
        const reply = await fetch(service.url(`export/fega/${first.requestId}`), { headers: { authorization } });
        expectSame([reply.status, ((await reply.json()) as { state: string }).state], [200, 'complete']);
      },
    },
    {
      name: 'a refused visa',
      ask: async () => {
        const reply = await service.direct(`files/${largeFile.fileId}`, await service.visa({ datasetId }));
        expectSame(reply.status, 403);
      },
    },
  ];
}, 300_000);
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

function expectSame(given: unknown, wanted: unknown): void {
  if (JSON.stringify(given) !== JSON.stringify(wanted)) {
    throw new Error(`expected ${JSON.stringify(wanted)}, not ${JSON.stringify(given).slice(0, 500)}`);
  }
}

function expectBytes(reply: RawReply, status: number, bytes: Buffer): void {
  expectSame(
    [reply.status, reply.complete, reply.bytes.length, sha256(reply.bytes)],
    [status, true, bytes.length, sha256(bytes)],
  );
}

function fileOf(visa: string, headers: Readonly<Record<string, string>> = {}): Promise<RawReply> {
  return service.direct(`files/${largeFile.fileId}`, visa, { headers });
}

async function expectPlaintext(container: Buffer, path: string): Promise<void> {
  const opened = await receive(once(container), recipient.privateKey);
  const made = await collect(bytesOf({ path, size: archived[path] ?? 0 }));
  expectSame(opened.plaintextSha256, sha256(made));
}

async function* once(bytes: Uint8Array) {
  yield bytes;
}

/** Copy the assembly to a folder, so changed that each function has another bundle. */
async function copyWithOtherBundles(target: string): Promise<void> {
  cpSync(await assembly(), target, { recursive: true });
  const renamed = new Map<string, string>();
  for (const name of readdirSync(target)) {
    const bundle = join(target, name, 'index.mjs');
    if (!name.startsWith('asset.') || !existsSync(bundle)) continue;
    appendFileSync(bundle, '\n// changed\n');
    const [hash, other] = [name.slice('asset.'.length), sha256(Buffer.from(name))];
    renamed.set(hash, other);
    renameSync(join(target, name), join(target, `asset.${other}`));
  }
  for (const name of readdirSync(target).filter((file) => file.endsWith('.json'))) {
    const text = readFileSync(join(target, name), 'utf8');
    writeFileSync(
      join(target, name),
      text.replaceAll(/[0-9a-f]{64}/g, (hash) => renamed.get(hash) ?? hash),
    );
  }
}

/** Each order is that of another recipient. */
async function order(): Promise<Ordered> {
  const visa = await service.visa({ subject: randomUUID(), datasetId });
  return { visa, requestId: await service.exported({ id: datasetId, visa, publicKey: recipient.publicKey }) };
}

/** Each file was staged once and can be read, and one receipt lists them all. */
async function expectDelivered({ requestId, visa }: Ordered): Promise<void> {
  const receiptOf = async () =>
    (await service.listAll(visa)).find(({ fileName }) => fileName.endsWith(`-${requestId}.delivery.jws`));
  const receipt = await until(receiptOf, `the receipt of ${requestId}`, 90_000);
  const paths = Object.keys(archived);
  const events = (await service.audit(requestId)).map(({ event }) => event);
  expect(events.filter((event) => event === 'staged')).toHaveLength(paths.length);
  const containers = await service.list(visa);
  expect(containers).toHaveLength(paths.length);
  for (const path of paths) {
    const { fileName = '' } = containers.find((file) => file.fileName.endsWith(`-${path}.c4gh`)) ?? {};
    await expectPlaintext(await service.download(visa, fileName), path);
  }
  const jws = (await service.download(visa, receipt.fileName)).toString('latin1');
  const keys = (await (await fetch(service.url('.well-known/jwks.json'))).json()) as JSONWebKeySet;
  const { payload } = await compactVerify(jws, createLocalJWKSet(keys));
  const { complete, files, jti } = JSON.parse(Buffer.from(payload).toString()) as DeliveryReceipt;
  expect([jti, complete, files.length]).toEqual([requestId, true, paths.length]);
}

/** Update under the callers' eyes. @returns the types of the resources, in the order of their steps */
async function update(assemblyDir: string): Promise<readonly string[]> {
  const types: string[] = [];
  isOver = false;
  const asking = callers.map(keepAsking);
  const allAsked = () => Promise.all(callers.map(askOnce));
  try {
    await allAsked();
    for await (const { action, logicalId, type } of service.engine.update(assemblyDir)) {
      step = `${action} ${logicalId}`;
      types.push(type);
      if (!withoutCallers.test(type)) await allAsked();
    }
    await allAsked();
    return types;
  } finally {
    isOver = true;
    await Promise.all(asking);
  }
}

/** @returns the functions that run no bundle of an assembly */
function withOtherCode(assemblyDir: string): readonly string[] {
  const bundleIn = (root: string) => sha256(readFileSync(join(root, 'index.mjs')));
  const assets = loadAssembly(assemblyDir).flatMap((stack) => [...stack.assets.values()]);
  const known = assets.filter((path) => existsSync(join(path, 'index.mjs'))).map(bundleIn);
  const { functions } = service.engine;
  return functions.names.filter(
    (name) => !known.includes(bundleIn(String(functions.definition(name).environment.LAMBDA_TASK_ROOT))),
  );
}

/** All that was ordered during an update is delivered, and no answer was wrong. */
async function expectNothingLost(): Promise<void> {
  expect(wrong).toEqual([]);
  expect(ordered.length).toBeGreaterThan(10);
  await until(async () => (await areQueuesEmpty(service)) || undefined, 'the queues to be empty', 120_000);
  while (ordered.length > 0) await Promise.all(ordered.splice(0, 4).map(expectDelivered));
}

test('an update loses no request, and stages every order once', { timeout: 600_000 }, async () => {
  const types = await update(await assembly());
  const count = (type: string) => types.filter((each) => each === type).length;
  expect(count('AWS::Lambda::Function')).toBeGreaterThan(20);
  expect(types.indexOf('Custom::Trigger')).toBeLessThan(types.lastIndexOf('AWS::Lambda::Function'));
  expect(withOtherCode(await assembly())).toEqual([]);
  // The way back removes grants before the code that uses them. Such a message comes again.
  expect(service.logs.map(({ line }) => line).filter((line) => line.includes('AccessDenied'))).toEqual([]);
  await expectNothingLost();
});

test('going back loses no request either', { timeout: 600_000 }, async () => {
  await update(former);
  expect(withOtherCode(former)).toEqual([]);
  await expectNothingLost();
});
