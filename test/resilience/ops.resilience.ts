import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { type Engine, startEngine } from '../../lib/local/engine.ts';
import { assembly } from '../helpers/assembly.ts';
import { containerOf, keyVector, manifest, vectorFile } from '../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../helpers/made-files.ts';
import { opsProcess, type ProcessChoices } from '../helpers/ops-process.ts';
import { ProxyCaller } from '../helpers/proxy-caller.ts';
import { receive } from '../helpers/receive.ts';

let folder: string;
let engine: Engine;
let s3: S3Client;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-ops-e2e-'));
  engine = await startEngine({ assemblyDir: await assembly(), connectionPath: join(folder, 'connection.json') });
  const { region, credentials, endpoints } = engine.connection;
  s3 = new S3Client({ region, credentials, endpoint: endpoints.s3, forcePathStyle: true });
});
afterAll(async () => {
  s3?.destroy();
  await engine?.stop();
  await rm(folder, { recursive: true, force: true });
});

const run = (argv: readonly string[], choices: Partial<ProcessChoices> = {}) =>
  opsProcess(argv, { connectionPath: engine.connectionPath, ...choices });
const file = (name: string) => join(folder, name);

async function sql(text: string): Promise<readonly (readonly (string | null)[])[]> {
  return (await engine.database.run(text, [])).rows;
}

/** Keys in the archive bucket, and uploads that were begun and not ended. */
async function archiveBucket(): Promise<{ keys: string[]; uploads: number }> {
  const Bucket = engine.connection.outputs.ArchiveBucketName;
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }));
  const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket }));
  return { keys: Contents.map(({ Key = '' }) => Key), uploads: Uploads.length };
}

describe('archive add', () => {
  test('an interrupt in the middle of an upload leaves neither object, upload nor row', async () => {
    const before = await archiveBucket();
    const { exitCode, stderr } = await run(['archive', 'add', '-', '--path', 'big.bam', '--dataset', 'EGAD1'], {
      // Bytes, and then silence: only the signal can end it.
      input: Readable.from(
        (async function* () {
          yield* bytesOf({ path: 'interrupted', size: 40 << 20 });
          await new Promise(() => {});
        })(),
      ),
      onStart: (child) => {
        const stop = engine.traffic.observe(({ caller, action }) => {
          if (caller !== 'operator' || action !== 'UploadPart') return;
          stop();
          child.kill('SIGINT');
        });
      },
    });
    expect(stderr).toContain('interrupted');
    expect(exitCode).toBe(130);
    expect(await archiveBucket()).toEqual(before);
    expect(await sql("select 1 from sda.files where submission_file_path = 'big.bam'")).toEqual([]);
  });
});

describe('a deployment from nothing', () => {
  test('a new administrator may export, a new user may list', async () => {
    const admin = JSON.parse((await run(['admin', 'add', 'adele', '--generate', '--json'])).stdout);
    const user = JSON.parse((await run(['user', 'add', 'uri', '--generate', '--json'])).stdout);
    const visa = (await run(['visa', 'issue', '--subject', 'anna', '--dataset', 'EGAD404'])).stdout.trim();
    const connection = { ...engine.connection, admin, archiveUser: user };
    const proxy = new ProxyCaller(connection, AbortSignal.timeout(20_000));
    const publicKey = formatPublicKey(generateKeyPair().publicKey);
    const requestId = await proxy.exportDataset({ datasetId: 'EGAD404', visa, publicKey });
    expect(await proxy.listOutbox(visa)).toEqual([]);
    await expect
      .poll(async () => (await run(['audit', '--request', requestId])).stdout, { timeout: 20_000, interval: 300 })
      .toContain('rejected  unknown_dataset  EGAD404');
  });

  test('a container of another implementation, for a key added later, reaches its recipient', async () => {
    const vector = manifest.vectors.find(({ id }) => id === 'pos-06-three-segments-and-17')!;
    const alice = keyVector('alice');
    await writeFile(file('alice.sec'), vectorFile(alice.private!));
    await writeFile(file('passphrase'), alice.passphrase ?? '');
    await writeFile(file('reference.c4gh'), containerOf(vector));
    const key = await run(['archive-key', 'add', file('alice.sec'), '--passphrase-file', file('passphrase')]);
    expect(key).toMatchObject({ exitCode: 0 });

    const dataset = 'EGAD11';
    expect(await run(['archive', 'add', file('reference.c4gh'), '--dataset', dataset])).toMatchObject({ exitCode: 0 });
    expect(await run(['dataset', 'release', dataset])).toMatchObject({ exitCode: 0 });

    const visa = (await run(['visa', 'issue', '--subject', 'bente', '--dataset', dataset])).stdout.trim();
    const recipient = generateKeyPair();
    const proxy = new ProxyCaller(engine.connection, AbortSignal.timeout(40_000));
    await proxy.exportDataset({ datasetId: dataset, visa, publicKey: formatPublicKey(recipient.publicKey) });
    await expect.poll(() => proxy.listOutbox(visa), { timeout: 30_000, interval: 200 }).toHaveLength(1);
    const [staged] = await proxy.listOutbox(visa);
    const received = await receive(await proxy.stream(visa, staged!.fileName), recipient.privateKey);
    expect(received.plaintextSha256).toBe(vector.expected.sha256);
    expect(received.plaintextSize).toBe(vector.expected.length);
  });
});

test('an engine that is gone is "unavailable", soon', async () => {
  const path = file('gone.json');
  const nowhere = Object.keys(engine.connection.endpoints).map((service) => [service, 'http://127.0.0.1:9']);
  const endpoints = Object.fromEntries(nowhere);
  await writeFile(path, JSON.stringify({ ...engine.connection, endpoints }));
  const started = performance.now();
  expect(await opsProcess(['dataset', 'list'], { connectionPath: path })).toMatchObject({ exitCode: 7, stdout: '' });
  expect(await opsProcess(['archive-key', 'show'], { connectionPath: path })).toMatchObject({ exitCode: 7 });
  expect(performance.now() - started).toBeLessThan(15_000);
});
