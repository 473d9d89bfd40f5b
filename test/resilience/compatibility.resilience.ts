import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { runCheck } from '../../lib/ops/smoke/check.ts';
import { conformanceChecks } from '../../lib/ops/smoke/conformance/operations.ts';
import type { Run } from '../../lib/ops/smoke/run.ts';
import type { WireReply, WireRequest } from '../../lib/ops/smoke/wire.ts';
import { copyWithSettings } from '../helpers/assembly-with-settings.ts';
import { conformanceRun } from '../helpers/conformance-run.ts';
import { collect } from '../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../helpers/made-files.ts';
import { OpenApi } from '../helpers/openapi.ts';
import { readPlainly } from '../helpers/plain-crypt4gh.ts';
import { Service } from '../helpers/service.ts';

/** The routes for clients of other archives: the conformance suite, and what sda-cli sends. */

const api = OpenApi.read('direct', 'compatibility');
const replies: (readonly [operation: string, WireRequest, WireReply])[] = [];
let folder: string;
let service: Service;
let run: Run;
let passed: Set<string>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-compatibility-'));
  await copyWithSettings(folder, { compatibility: ['sda', 'ega'] });
  service = await Service.start({ assemblyDir: folder });
  const onReply: Run['onReply'] = (...reply) => replies.push(reply);
  ({ run, passed } = await conformanceRun(service, onReply, { sda: true, ega: true }));
}, 300_000);
afterAll(async () => {
  await run?.[Symbol.asyncDispose]();
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const checks = conformanceChecks.filter(({ id }) => api.operations.includes(id.replace('direct ', '')));

test('the suite has every route of the document', () => {
  expect(checks.map(({ id }) => id.replace('direct ', '')).sort()).toEqual(api.operations.toSorted());
});

test.each(checks.map((check) => [check.id, check] as const))('%s', async (id, check) => {
  const { result, found } = await runCheck(check, run, passed);
  expect([id, result, found]).toEqual([id, 'passed', found]);
});

test('each reply has the form that docs/openapi describes', async () => {
  const ofOperations = replies.filter(([operation, { method }]) => operation.includes(` ${method} `));
  for (const [operation, { method }, { status, headers, bytes }] of ofOperations) {
    const [, , path = ''] = operation.split(' ');
    const entries = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
    await api.check({ method, path, status, headers: entries, body: bytes });
  }
  expect(ofOperations.length).toBeGreaterThan(80);
});

test('no log line has the visa that was sent as a password, and no refusal repeats a password', () => {
  const signature = run.visa.split('.')[2] ?? '';
  expect(service.logs.filter(({ line }) => line.includes(signature))).toEqual([]);
  const refusals = replies.filter(([operation, , { status }]) => operation.endsWith('/ega/token') && status >= 400);
  expect(refusals.length).toBeGreaterThan(5);
  expect(refusals.filter(([, , { text }]) => text.includes(signature) || text.includes('x'.repeat(50)))).toEqual([]);
});

describe('sda-cli', () => {
  const keys = generateKeyPair();
  const key = Buffer.from(formatPublicKey(keys.publicKey)).toString('base64');
  const agent = { 'SDA-Client-Version': 'v0.3.3' };
  const paths = ['study/a.bam', 'jane_example.org/b.txt', 'run_1/c.txt', 'run_2/c.txt', 'd.txt.c4gh', 'prøve 1/e.txt'];
  let visa: string;
  let fileIds: readonly string[];
  beforeAll(async () => {
    const added = [];
    for (const path of paths) added.push(await service.archive('EGAD1', path, 70_000));
    fileIds = added.map(({ fileId }) => fileId);
    await service.setDataset('EGAD1', 'released');
    visa = await service.visa();
  });
  const sent = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    service.direct(path, visa, { headers: { ...agent, ...headers } });
  const json = async (path: string) => JSON.parse((await sent(path, { Accept: 'application/json' })).text);
  const plaintextOf = (container: Buffer) => readPlainly(container, keys.privateKey).toString('hex');
  const content = async (path: string) => (await collect(bytesOf({ path, size: 70_000 }))).toString('hex');

  test('lists datasets and files, by both versions', async () => {
    expect(await json('metadata/datasets')).toEqual(['EGAD1']);
    expect(await json('datasets')).toEqual({ datasets: ['EGAD1'], nextPageToken: null });
    expect(await json('datasets/EGAD1')).toEqual({ datasetId: 'EGAD1', files: 6, size: 420_000 });
    const filePaths = paths.map((path) => (path.endsWith('.c4gh') ? path : `${path}.c4gh`)).sort();
    const pathsOf = (files: { filePath: string }[]) => files.map(({ filePath }) => filePath).sort();
    expect(pathsOf(await json('metadata/datasets/EGAD1/files'))).toEqual(filePaths);
    expect(pathsOf((await json('datasets/EGAD1/files')).files)).toEqual(filePaths);
    expect(pathsOf((await json('datasets/EGAD1/files?pathPrefix=run_1%2F')).files)).toEqual(['run_1/c.txt.c4gh']);
  });

  /** The path as version 1 sends it, without what looks like a user's name. */
  test.each([
    ['study/a.bam.c4gh', 0],
    ['study/a.bam', 0],
    ['b.txt.c4gh', 1],
    ['d.txt.c4gh', 4],
    ['pr%C3%B8ve%201/e.txt.c4gh', 5],
  ])('v1 downloads %s', async (path, at) => {
    const { status, bytes } = await sent(`s3/EGAD1/${path}`, { 'Client-Public-Key': key });
    expect(status).toBe(200);
    expect(plaintextOf(bytes)).toBe(await content(paths[at] ?? ''));
  });

  test('v1 is told in a 412, which it shows, that a path is of several files', async () => {
    const { status, text } = await sent('s3/EGAD1/c.txt.c4gh', { 'Client-Public-Key': key });
    expect([status, JSON.parse(text).detail]).toEqual([412, expect.stringContaining('use --api-version v2')]);
  });

  test.each(paths)('v2 downloads %s from its downloadUrl, which has the stage', async (path) => {
    const filePath = path.endsWith('.c4gh') ? path : `${path}.c4gh`;
    const { files } = await json(`datasets/EGAD1/files?filePath=${encodeURIComponent(filePath)}`);
    const url = new URL(files[0].downloadUrl, service.connection.dataOutUrl);
    const reply = await fetch(url, {
      headers: { ...agent, Authorization: `Bearer ${visa}`, 'X-C4GH-Public-Key': key },
    });
    expect(files).toMatchObject([{ fileId: fileIds[paths.indexOf(path)], decryptedSize: 70_000 }]);
    expect(reply.status).toBe(200);
    expect(plaintextOf(Buffer.from(await reply.arrayBuffer()))).toBe(await content(path));
  });

  test('v2 follows page tokens to the last file', async () => {
    const { files } = await json('datasets/EGAD1/files');
    const rest = await json(`datasets/EGAD1/files?pageToken=${files[2].fileId}`);
    expect(rest).toEqual({ files: files.slice(3), nextPageToken: null });
    expect(await json('datasets/EGAD1/files?filePath=none.c4gh')).toEqual({ files: [], nextPageToken: null });
  });
});
