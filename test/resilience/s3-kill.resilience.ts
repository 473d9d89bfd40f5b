import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { s3Client } from '../../lib/service/stores/clients.ts';
import { testClient } from '../helpers/http-handler.ts';

/**
 * The embedded S3 dies again and again while several writers put, complete and delete objects. Every acknowledged write
 * must be there after the next start, byte by byte. Any other write may be there whole or not at all.
 */
const Bucket = 'kept';
const rounds = 12;
const writers = 6;
const mebibyte = 2 ** 20;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-s3-kill-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What a key may hold after a crash: the digest that was acknowledged last, and that of a write without an answer. */
interface Expectation {
  readonly acknowledged: string | undefined;
  readonly pending?: string | undefined;
}
const nothing = 'nothing';
const expected = new Map<string, Expectation>();

async function start(): Promise<{ process: ChildProcess; client: S3Client }> {
  const child = fork(fileURLToPath(new URL('../helpers/s3-process.ts', import.meta.url)), [folder, Bucket]);
  const [url] = (await once(child, 'message')) as [string];
  const client = s3Client({ ...testClient, endpoint: url });
  return { process: child, client };
}

/** Write, change and delete the keys of one writer until the server is gone. */
async function write(client: S3Client, writer: number, round: number, isOver: () => boolean): Promise<void> {
  for (let turn = 0; !isOver(); turn += 1) {
    const Key = `writer-${writer}/${turn % 5}`;
    const body = Buffer.alloc(1000 + 7 * turn, `${round}.${writer}.${turn} `);
    const isLarge = turn % 5 === 3;
    const whole = isLarge ? Buffer.concat([Buffer.alloc(5 * mebibyte, `${round}${writer}`), body]) : body;
    const isDelete = turn % 5 === 4 && turn > 5;
    const acknowledged = expected.get(Key)?.acknowledged;
    const pending = isDelete ? nothing : digest(whole);
    expected.set(Key, { acknowledged, pending });
    try {
      if (isDelete) await client.send(new DeleteObjectCommand({ Bucket, Key }));
      else if (isLarge) await multipart(client, Key, whole);
      else await client.send(new PutObjectCommand({ Bucket, Key, Body: body }));
    } catch {
      return;
    }
    expected.set(Key, { acknowledged: pending });
  }
}

async function multipart(client: S3Client, Key: string, bytes: Buffer): Promise<void> {
  const upload = {
    Bucket,
    Key,
    UploadId: (await client.send(new CreateMultipartUploadCommand({ Bucket, Key }))).UploadId,
  };
  const split = 5 * mebibyte;
  const source = `${Key}.source`;
  await client.send(new PutObjectCommand({ Bucket, Key: source, Body: bytes.subarray(0, split) }));
  const copied = await client.send(
    new UploadPartCopyCommand({ ...upload, PartNumber: 1, CopySource: `${Bucket}/${source}` }),
  );
  const sent = await client.send(new UploadPartCommand({ ...upload, PartNumber: 2, Body: bytes.subarray(split) }));
  const Parts = [copied.CopyPartResult?.ETag, sent.ETag].map((ETag, index) => ({ PartNumber: index + 1, ETag }));
  await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }));
}

const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

async function found(client: S3Client, Key: string): Promise<string> {
  try {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
    return digest((await Body?.transformToByteArray()) ?? new Uint8Array());
  } catch (error) {
    if (error instanceof Error && error.name === 'NoSuchKey') return nothing;
    throw error;
  }
}

describe('the embedded S3, killed while it writes', () => {
  it(`loses no object that it has acknowledged, ${rounds} times over`, async () => {
    let checked = 0;
    for (let round = 0; round < rounds; round += 1) {
      const { process: server, client } = await start();
      for (const [key, { acknowledged = nothing, pending }] of expected) {
        const now = await found(client, key);
        expect([acknowledged, pending], key).toContain(now);
        expected.set(key, { acknowledged: now });
        checked += 1;
      }
      let isOver = false;
      const writing = Array.from({ length: writers }, (_, writer) => write(client, writer, round, () => isOver));
      // Another moment in every round.
      await sleep(150 + 37 * round);
      server.kill('SIGKILL');
      isOver = true;
      await once(server, 'exit');
      client.destroy();
      await Promise.all(writing);
    }
    expect(checked).toBeGreaterThan(100);
  }, 180_000);

  it('keeps no file of an unfinished write', async () => {
    const { process: server, client } = await start();
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
    for (const { Key } of Contents) await client.send(new DeleteObjectCommand({ Bucket, Key }));
    server.kill('SIGKILL');
    await once(server, 'exit');
    const again = await start();
    again.process.kill('SIGKILL');
    again.client.destroy();
    client.destroy();
    const files = await readdir(join(folder, 'data'), { recursive: true, withFileTypes: true });
    const uploads = await readdir(join(folder, 'buckets', Bucket, 'uploads'));
    // Parts of unfinished uploads stay, as in S3, until the uploads are aborted.
    const owners = new Set(uploads.map((name) => name.split('.')[0]));
    const orphans = files.filter((file) => file.isFile() && !owners.has(file.name.split('.')[0]));
    expect(orphans.map(({ name }) => name)).toEqual([]);
  });
});
