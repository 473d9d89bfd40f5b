import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RequestTooLargeException } from '../../lib/local/lambda/functions.ts';
import { rawRequest } from '../helpers/raw-http.ts';
import { Service } from '../helpers/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'data-out-engine-'));
const connectionPath = join(folder, 'connection.json');
let service: Service;
beforeAll(async () => {
  process.env.DEVELOPER_SECRET = 'mine';
  service = await Service.start({ connectionPath });
});
afterAll(async () => {
  delete process.env.DEVELOPER_SECRET;
  await service?.stop();
  rmSync(folder, { recursive: true });
});

describe('a web page', () => {
  test.each([
    ['under its own name that leads here', { Host: 'rebound.example' }],
    ['of another origin', { Origin: 'https://elsewhere.example' }],
    ['without its own origin', { Origin: 'null' }],
  ])('%s is refused by the APIs and by the AWS services', async (_, headers) => {
    const { proxyUrl, dataOutUrl, endpoints } = service.connection;
    for (const url of [proxyUrl, dataOutUrl, endpoints.s3]) {
      const reply = await rawRequest(url, 'service-info', { headers });
      expect([reply.status, reply.text]).toEqual([403, 'The local engine serves this machine only.\n']);
    }
  });

  test('that is served from this machine is answered', async () => {
    const headers = { Origin: 'http://localhost:3000' };
    expect((await rawRequest(service.connection.dataOutUrl, 'service-info', { headers })).status).toBe(200);
  });
});

describe('a function', () => {
  test('has the variables of the template and of Lambda, its own credentials, and nothing of the developer', () => {
    const { environment } = service.engine.functions.definition('files');
    expect(environment).toMatchObject({
      OUTBOX_EXPIRY_DAYS: '30',
      AWS_REGION: 'eu-north-1',
      _HANDLER: 'index.handler',
    });
    expect(environment.AWS_ACCESS_KEY_ID).not.toBe(service.connection.credentials.accessKeyId);
    expect(Object.keys(environment).filter((name) => /^(HOME|DEVELOPER_SECRET)$/.test(name))).toEqual([]);
  });

  test('trusts the local issuer', () => {
    const root = service.engine.functions.definition('files').environment.LAMBDA_TASK_ROOT ?? '';
    const issuers = JSON.parse(readFileSync(join(root, 'config/trusted-issuers.json'), 'utf8'));
    const { iss, jwksPath } = service.connection.issuer;
    expect(issuers).toMatchObject([{ iss, jwks: JSON.parse(readFileSync(jwksPath, 'utf8')) }]);
  });

  test('is asked for a streamed reply by at most 6 MB', async () => {
    const streamed = service.engine.functions.invokeStreaming('files', { filler: 'x'.repeat(7_000_000) });
    await expect(streamed.next()).rejects.toThrow(RequestTooLargeException);
  });
});

test('S3 answers a caller without credentials, and a role without the permission, by a refusal', async () => {
  const Bucket = service.connection.outputs.OutboxBucketName;
  const response = await fetch(`${service.connection.endpoints.s3}/${Bucket}/k`);
  expect([response.status, await response.text()]).toEqual([403, expect.stringContaining('AccessDenied')]);
  const get = new GetObjectCommand({ Bucket, Key: 'k' });
  await expect(service.s3As('jwks').send(get)).rejects.toMatchObject({ name: 'AccessDenied' });
  // Nor does S3 tell a role that may not list whether a key that it may read is missing.
  const Key = `${service.prefix('someone')}/missing.c4gh`;
  await expect(service.s3.send(new GetObjectCommand({ Bucket, Key }))).rejects.toMatchObject({ name: 'NoSuchKey' });
});

test('the connection file is for its owner only, and is gone when the engine is', async () => {
  const own = join(folder, 'own.json');
  const second = await Service.start({ connectionPath: own });
  expect(JSON.parse(readFileSync(own, 'utf8'))).toEqual(second.engine.connection);
  expect(statSync(own).mode & 0o777).toBe(0o600);
  await second.stop();
  expect(existsSync(own)).toBe(false);
});
