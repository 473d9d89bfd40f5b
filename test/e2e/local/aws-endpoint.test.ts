import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from '../../../lib/local/engine.ts';
import { Service } from '../../helpers/service.ts';
import { writeFixtureAssembly } from './fixtures/assembly.ts';

const folder = mkdtempSync(join(tmpdir(), 'data-out-fixture-'));
const mebibyte = 1024 * 1024;
let service: Service;
let engine: Engine;
let Bucket: string;
/** Clients with the credentials of the function `work`, which may put `allowed/*` only. */
let work: { s3: S3Client; sqs: SQSClient };

beforeAll(async () => {
  service = await Service.start({ assemblyDir: writeFixtureAssembly(folder) });
  engine = service.engine;
  Bucket = engine.connection.outputs.OutboxBucketName;
  const { accessKeyId, secretAccessKey, sessionToken = '' } = engine.functions.definition('work').principal;
  const { region, endpoints } = engine.connection;
  const options = { region, credentials: { accessKeyId, secretAccessKey, sessionToken }, maxAttempts: 1 };
  work = {
    s3: new S3Client({ ...options, endpoint: endpoints.s3 }),
    sqs: new SQSClient({ ...options, endpoint: endpoints.sqs }),
  };
});
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const put = (Key: string, Body: string | Uint8Array, rest: { IfMatch?: string; IfNoneMatch?: string } = {}) =>
  service.s3.send(new PutObjectCommand({ Bucket, Key, Body, ...rest }));
const failure = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'no error',
    (error: { name: string; $metadata?: { httpStatusCode?: number } }) => [error.$metadata?.httpStatusCode, error.name],
  );

describe('a role', () => {
  it('may do what its policies allow, and nothing else', async () => {
    await work.s3.send(new PutObjectCommand({ Bucket, Key: 'allowed/x', Body: new Uint8Array() }));
    expect(
      await failure(work.s3.send(new PutObjectCommand({ Bucket, Key: 'other/x', Body: new Uint8Array() }))),
    ).toEqual([403, 'AccessDenied']);
    const QueueUrl = engine.connection.outputs.ExportRequestsQueueUrl;
    const refused = await failure(work.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' })));
    expect(refused).toEqual([400, 'AccessDeniedException']);
  });

  it('needs s3:GetObject on the source of a copy', async () => {
    await put('allowed/source', Buffer.alloc(6 * mebibyte));
    const target = { Bucket, Key: 'allowed/copy' };
    const { UploadId } = await work.s3.send(new CreateMultipartUploadCommand(target));
    const copy = new UploadPartCopyCommand({
      ...target,
      UploadId,
      PartNumber: 1,
      CopySource: `${Bucket}/allowed/source`,
    });
    expect(await failure(work.s3.send(copy))).toEqual([403, 'AccessDenied']);
  });

  it('that may not list cannot tell a missing key from a forbidden one', async () => {
    const missing = { Bucket, Key: 'readable/missing' };
    expect(await failure(service.s3.send(new GetObjectCommand(missing)))).toEqual([404, 'NoSuchKey']);
    expect(await failure(work.s3.send(new GetObjectCommand(missing)))).toEqual([403, 'AccessDenied']);
    await service.s3.send(new PutObjectCommand({ Bucket, Key: 'readable/there', Body: 'x' }));
    expect((await work.s3.send(new GetObjectCommand({ Bucket, Key: 'readable/there' }))).ContentLength).toBe(1);
    const { UploadId } = await service.s3.send(new CreateMultipartUploadCommand({ Bucket, Key: 'allowed/copy' }));
    const part = { Bucket, Key: 'allowed/copy', UploadId, PartNumber: 1 };
    const copy = new UploadPartCopyCommand({ ...part, CopySource: `${Bucket}/readable/missing` });
    expect(await failure(work.s3.send(copy))).toEqual([403, 'AccessDenied']);
    await service.s3.send(new AbortMultipartUploadCommand({ Bucket, Key: 'allowed/copy', UploadId }));
  });
});

it('a function whose reply is larger than 6 MB fails', async () => {
  expect(await engine.functions.invoke('echo', { do: 'large' })).toMatchObject({
    ok: false,
    error: { errorType: 'Function.ResponseSizeTooLarge' },
  });
});

it('a client without credentials is refused', async () => {
  const response = await fetch(`${engine.connection.endpoints.s3}/${Bucket}/signed/c`);
  expect([response.status, await response.text()]).toEqual([403, expect.stringContaining('AccessDenied')]);
});

describe('a fault', () => {
  const isPut = (key: string) => (call: { action: string; key?: string | undefined }) =>
    call.action === 'PutObject' && call.key === key;
  const exists = async (Key: string) =>
    (await failure(service.s3.send(new HeadObjectCommand({ Bucket, Key })))) === 'no error';

  it('before a call leaves no effect, one after it does', async () => {
    for (const when of ['before', 'after'] as const) {
      const key = `fault/${when}`;
      const remove = engine.traffic.addFault((call) =>
        isPut(key)(call) ? { when, error: { status: 400, code: 'Broken' } } : undefined,
      );
      expect(await failure(put(key, 'x'))).toEqual([400, 'Broken']);
      remove();
      expect(await exists(key)).toBe(when === 'after');
    }
  });

  it('may break the connection, once, and is seen by an observer', async () => {
    const seen: [string, number][] = [];
    const stop = engine.traffic.observe((call, status) => {
      if (isPut('fault/drop')(call)) seen.push([call.caller, status]);
    });
    let left = 1;
    const remove = engine.traffic.addFault((call) =>
      isPut('fault/drop')(call) && left-- > 0 ? { drop: true } : undefined,
    );
    // The SDK tries again after a broken connection.
    await put('fault/drop', 'x');
    remove();
    stop();
    expect(seen).toEqual([
      ['operator', 0],
      ['operator', 200],
    ]);
  });
});
