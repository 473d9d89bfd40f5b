import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decrypt, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { collect, containerOf, keyVector, manifest, sha256, vectorFile } from '../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../helpers/made-files.ts';
import { opsProcess, type ProcessChoices } from '../helpers/ops-process.ts';
import { Service, until } from '../helpers/service.ts';

let folder: string;
let service: Service;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-ops-e2e-'));
  service = await Service.start();
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const run = (argv: readonly string[], choices: Partial<ProcessChoices> = {}) =>
  opsProcess(argv, { connectionPath: service.engine.connectionPath, ...choices });
const file = (name: string) => join(folder, name);

/** Keys in the archive bucket, and uploads that were begun and not ended. */
async function archiveBucket(): Promise<{ keys: string[]; uploads: number }> {
  const Bucket = service.connection.outputs.ArchiveBucketName;
  const { Contents = [] } = await service.s3.send(new ListObjectsV2Command({ Bucket }));
  const { Uploads = [] } = await service.s3.send(new ListMultipartUploadsCommand({ Bucket }));
  return { keys: Contents.map(({ Key = '' }) => Key), uploads: Uploads.length };
}

test('archive add: an interrupt in the middle of an upload leaves neither object, upload nor row', async () => {
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
      const stop = service.engine.traffic.observe(({ caller, action }) => {
        if (caller !== 'operator' || action !== 'UploadPart') return;
        stop();
        child.kill('SIGINT');
      });
    },
  });
  expect(stderr).toContain('interrupted');
  expect(exitCode).toBe(130);
  expect(await archiveBucket()).toEqual(before);
  expect(await service.sql("select 1 from sda.files where submission_file_path = 'big.bam'")).toEqual([]);
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
  await service.exported({ id: dataset, visa, publicKey: recipient.publicKey });
  const staged = await until(async () => (await service.list(visa))[0], 'the container');
  const container = await service.download(visa, staged.fileName);
  const plaintext = await collect(decrypt([container], { privateKeys: [recipient.privateKey] }));
  expect([sha256(plaintext), plaintext.length]).toEqual([vector.expected.sha256, vector.expected.length]);
});

test('an engine that is gone is "unavailable", soon', async () => {
  const path = file('gone.json');
  const nowhere = Object.keys(service.connection.endpoints).map((service) => [service, 'http://127.0.0.1:9']);
  const endpoints = Object.fromEntries(nowhere);
  await writeFile(path, JSON.stringify({ ...service.connection, endpoints }));
  const started = performance.now();
  expect(await opsProcess(['dataset', 'list'], { connectionPath: path })).toMatchObject({ exitCode: 7, stdout: '' });
  expect(await opsProcess(['archive-key', 'show'], { connectionPath: path })).toMatchObject({ exitCode: 7 });
  expect(performance.now() - started).toBeLessThan(15_000);
});
