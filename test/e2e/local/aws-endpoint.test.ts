import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { DescribeSecretCommand, GetSecretValueCommand, PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
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

describe('a conditional write', () => {
  it('replaces only what it names', async () => {
    const first = await put('conditional', 'one', { IfNoneMatch: '*' });
    expect(await failure(put('conditional', 'two', { IfNoneMatch: '*' }))).toEqual([412, 'PreconditionFailed']);
    await put('conditional', 'three', { IfMatch: first.ETag ?? '' });
    expect(await failure(put('conditional', 'four', { IfMatch: first.ETag ?? '' }))).toEqual([
      412,
      'PreconditionFailed',
    ]);
    expect(await failure(put('conditional-missing', 'x', { IfMatch: '"a"' }))).toEqual([404, 'NoSuchKey']);
  });

  it('succeeds once when several are sent together', async () => {
    const results = await Promise.allSettled(
      [1, 2, 3, 4, 5, 6].map((body) => put('race', `${body}`, { IfNoneMatch: '*' })),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

describe('a multipart upload', () => {
  it('is listed with its parts, checks the stated size, and copies only the source it names', async () => {
    const source = await put('multi/source', Buffer.alloc(6 * mebibyte, 'a'));
    const target = { Bucket, Key: 'multi/target' };
    const { UploadId } = await service.s3.send(new CreateMultipartUploadCommand(target));
    const upload = { ...target, UploadId };
    const copy = {
      ...upload,
      PartNumber: 1,
      CopySource: `${Bucket}/multi/source`,
      CopySourceRange: `bytes=0-${5 * mebibyte - 1}`,
    };
    const stale = new UploadPartCopyCommand({ ...copy, CopySourceIfMatch: '"another"' });
    expect(await failure(service.s3.send(stale))).toEqual([412, 'PreconditionFailed']);
    const first = await service.s3.send(new UploadPartCopyCommand({ ...copy, CopySourceIfMatch: source.ETag ?? '' }));
    const second = await service.s3.send(new UploadPartCommand({ ...upload, PartNumber: 2, Body: 'end' }));

    const { Uploads } = await service.s3.send(new ListMultipartUploadsCommand({ Bucket, Prefix: 'multi/' }));
    expect(Uploads?.map((each) => [each.Key, each.UploadId])).toEqual([['multi/target', UploadId]]);
    const listed = await service.s3.send(new ListPartsCommand({ ...upload, MaxParts: 1 }));
    expect(listed).toMatchObject({ IsTruncated: true, NextPartNumberMarker: '1' });
    const rest = await service.s3.send(new ListPartsCommand({ ...upload, PartNumberMarker: '1' }));
    expect(
      [...(listed.Parts ?? []), ...(rest.Parts ?? [])].map(({ PartNumber, Size, ETag }) => [PartNumber, Size, ETag]),
    ).toEqual([
      [1, 5 * mebibyte, first.CopyPartResult?.ETag],
      [2, 3, second.ETag],
    ]);

    const Parts = [first.CopyPartResult?.ETag, second.ETag].map((ETag, at) => ({ PartNumber: at + 1, ETag }));
    const complete = (MpuObjectSize: number) =>
      service.s3.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts }, MpuObjectSize }));
    expect(await failure(complete(5 * mebibyte))).toEqual([400, 'InvalidRequest']);
    await complete(5 * mebibyte + 3);
    const head = await service.s3.send(new HeadObjectCommand(target));
    expect(head.ContentLength).toBe(5 * mebibyte + 3);
    expect(
      (await service.s3.send(new ListMultipartUploadsCommand({ Bucket, Prefix: 'multi/' }))).Uploads,
    ).toBeUndefined();
  });
});

describe('objects', () => {
  it('may be empty', async () => {
    await put('empty', new Uint8Array());
    expect((await service.s3.send(new HeadObjectCommand({ Bucket, Key: 'empty' }))).ContentLength).toBe(0);
  });

  it('are listed by bytes, each once over pages, whatever their letters', async () => {
    const keys = ['b-a', 'bA', 'B.a', 'a_b', 'a-b', 'ab', 'Z', 'a1', 'é', 'z'].map((name) => `order/${name}`);
    for (const key of keys) await put(key, new Uint8Array());
    const found: (string | undefined)[] = [];
    for await (const page of paginateListObjectsV2({ client: service.s3, pageSize: 3 }, { Bucket, Prefix: 'order/' })) {
      found.push(...(page.Contents ?? []).map(({ Key }) => Key));
    }
    const byBytes = ['B.a', 'Z', 'a-b', 'a1', 'a_b', 'ab', 'b-a', 'bA', 'z', 'é'];
    expect(found).toEqual(byBytes.map((name) => `order/${name}`));
  });
});

describe('a presigned URL', () => {
  const disposition = 'attachment; filename="a b.c4gh"';
  const presign = (Key: string) =>
    getSignedUrl(service.s3, new GetObjectCommand({ Bucket, Key, ResponseContentDisposition: disposition }), {
      expiresIn: 60,
    });

  it('serves any client, also ranges, with the headers it names', async () => {
    await put('signed/a b', 'hello world');
    const url = await presign('signed/a b');
    const whole = await fetch(url);
    expect([whole.status, await whole.text(), whole.headers.get('content-disposition')]).toEqual([
      200,
      'hello world',
      disposition,
    ]);
    const part = await fetch(url, { headers: { range: 'bytes=6-' } });
    expect([part.status, await part.text(), part.headers.get('content-range')]).toEqual([
      206,
      'world',
      'bytes 6-10/11',
    ]);
    expect(engine.traffic.counters()['presigned s3 GetObject']).toEqual({ calls: 2, bytesIn: 0, bytesOut: 16 });
  });

  it('refuses other methods, other keys, and other credentials beside it', async () => {
    await put('signed/c', 'x');
    const url = await presign('signed/c');
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(403);
    expect((await fetch(url.replace('signed/c', 'signed/a%20b'))).status).toBe(403);
    const doubled = await fetch(url, { headers: { authorization: 'Basic eDp5' } });
    expect([doubled.status, await doubled.text()]).toEqual([
      400,
      expect.stringContaining('<Code>InvalidArgument</Code>'),
    ]);
    const more = await fetch(url, { headers: { 'x-amz-copy-source': `${Bucket}/signed/b` } });
    expect([more.status, await more.text()]).toEqual([
      403,
      expect.stringContaining('<HeadersNotSigned>x-amz-copy-source</HeadersNotSigned>'),
    ]);
  });

  it('is the only way for a client without credentials', async () => {
    const response = await fetch(`${engine.connection.endpoints.s3}/${Bucket}/signed/c`);
    expect([response.status, await response.text()]).toEqual([403, expect.stringContaining('AccessDenied')]);
  });
});

describe('Secrets Manager', () => {
  it('keeps what is put', async () => {
    const SecretId = engine.connection.outputs.ArchiveKeysSecretArn;
    const before = await service.secretsManager.send(new GetSecretValueCommand({ SecretId }));
    expect(JSON.parse(before.SecretString ?? '').keys).toHaveLength(1);
    const { VersionId } = await service.secretsManager.send(
      new PutSecretValueCommand({ SecretId, SecretString: 'new' }),
    );
    const after = await service.secretsManager.send(new GetSecretValueCommand({ SecretId }));
    expect([after.SecretString, after.VersionId]).toEqual(['new', VersionId]);
    const described = await service.secretsManager.send(new DescribeSecretCommand({ SecretId: after.Name }));
    expect(described.ARN).toBe(SecretId);
    const missing = new GetSecretValueCommand({ SecretId: 'missing' });
    expect(await failure(service.secretsManager.send(missing))).toEqual([400, 'ResourceNotFoundException']);
  });
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
