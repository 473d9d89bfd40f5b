import { randomUUID } from 'node:crypto';
import { GetPublicKeyCommand, KMSClient, SignCommand } from '@aws-sdk/client-kms';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  type HeadObjectCommandInput,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { PurgeQueueCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Connection } from '../../lib/contract/connection.ts';
import type { Principal } from '../../lib/local/iam/credentials.ts';
import { Service, workQueueUrls } from '../helpers/service.ts';

/**
 * What an attacker in control of a function could do with its role: calls with its own credentials to the whole
 * service.
 */
let service: Service;
let Bucket: string;
const direct = `direct/${'0a'.repeat(32)}/EGAF1-a.c4gh`;
const staged = `${'0a'.repeat(32)}/EGAF1-a.c4gh`;
const receipt = `${'0a'.repeat(32)}/EGAD1-${randomUUID()}.delivery.jws`;
const absent = 'b'.repeat(64);

beforeAll(async () => {
  // What is done here with borrowed credentials is none of the functions' own doing.
  service = await Service.shared({ isRecorded: false });
  Bucket = service.connection.outputs.OutboxBucketName;
  for (const Key of [direct, staged, receipt])
    await service.s3For(Key).send(new PutObjectCommand({ Bucket, Key, Body: 'bytes' }));
});
afterAll(async () => {
  for (const QueueUrl of workQueueUrls(service.connection.outputs)) {
    await service.sqs.send(new PurgeQueueCommand({ QueueUrl }));
  }
  await service.stop();
});

function as(name: string) {
  return callsWith(service.engine.functions.definition(name).principal);
}

/** Calls with credentials, and the status of each reply. */
function callsWith({ accessKeyId, secretAccessKey, sessionToken }: Connection['credentials'] & Partial<Principal>) {
  const { region, endpoints } = service.connection;
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
  const options = { region, credentials, maxAttempts: 1 };
  const s3 = new S3Client({ ...options, endpoint: endpoints.s3, forcePathStyle: true });
  const sqs = new SQSClient({ ...options, endpoint: endpoints.sqs });
  // One endpoint serves all.
  const kms = new KMSClient({ ...options, endpoint: endpoints.s3 });
  const status = (attempt: Promise<{ $metadata: { httpStatusCode?: number } }>) =>
    attempt.then(
      ({ $metadata }) => $metadata.httpStatusCode,
      (error: { $metadata?: { httpStatusCode?: number } }) => error.$metadata?.httpStatusCode,
    );
  return {
    get: (Key: string) => status(s3.send(new GetObjectCommand({ Bucket, Key }))),
    head: (Key: string) => status(s3.send(new HeadObjectCommand({ Bucket, Key }))),
    headOf: (object: HeadObjectCommandInput) => status(s3.send(new HeadObjectCommand(object))),
    signed: async (object: { Bucket: string; Key: string }) => {
      const response = await fetch(await getSignedUrl(s3, new GetObjectCommand(object)));
      return [response.status, /<Code>(\w+)</.exec(await response.text())?.[1]];
    },
    remove: (Key: string) => status(s3.send(new DeleteObjectCommand({ Bucket, Key }))),
    put: (Key: string) => status(s3.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }))),
    list: (Prefix?: string) => status(s3.send(new ListObjectsV2Command({ Bucket, Prefix }))),
    sign: (KeyId: string) =>
      status(
        kms.send(
          new SignCommand({
            ...{ KeyId, Message: new Uint8Array(32), MessageType: 'DIGEST', SigningAlgorithm: 'ECDSA_SHA_256' },
          }),
        ),
      ),
    publicKey: (KeyId: string) => status(kms.send(new GetPublicKeyCommand({ KeyId }))),
    send: (QueueUrl: string) => status(sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: randomUUID() }))),
  };
}

/** What each function may do with a container of the direct API, one of a recipient, and a receipt: get, put, or both. */
test.each([
  ['files', '', '', '', [`${absent}/`], ['', 'direct/', 'd', 'b'.repeat(63)]],
  ['stream', '', 'get', 'get', [], ['', 'direct/']],
  ['direct-file', 'get put', '', '', ['direct/'], ['', `${absent}/`]],
  ['stage-file', '', 'get put', '', [], ['', 'direct/']],
  ['settle-delivery', '', '', 'put', [], ['', 'direct/']],
  ['withdraw', '', '', '', [`${absent}/`, 'direct/'], ['']],
  ['jwks', '', '', '', [], [`${absent}/`]],
])('%s works on its own part of the outbox alone', async (name, ofDirect, ofStaged, ofReceipt, lists, others) => {
  const calls = as(name);
  for (const [key, allowed] of [
    [direct, ofDirect],
    [staged, ofStaged],
    [receipt, ofReceipt],
  ] as const) {
    const expected = ['get', 'put'].map((verb) => (allowed.includes(verb) ? 200 : 403));
    expect([key, await calls.get(key), await calls.put(key)]).toEqual([key, ...expected]);
  }
  for (const prefix of lists) expect([prefix, await calls.list(prefix)]).toEqual([prefix, 200]);
  for (const prefix of [undefined, ...others]) expect([prefix, await calls.list(prefix)]).toEqual([prefix, 403]);
});

test.each([
  ['stream', `${absent}/x`, 'direct/x'],
  ['direct-file', 'direct/x', `${absent}/x`],
  ['stage-file', `${absent}/x.c4gh`, 'direct/x'],
  ['stage-file', `${absent}/x.c4gh`, `${absent}/x`],
  ['settle-delivery', `${absent}/x.delivery.jws`, `${absent}/x.c4gh`],
])('%s learns that %s does not exist, and nothing of %s', async (name, own, other) => {
  expect([await as(name).head(own), await as(name).head(other)]).toEqual([404, 403]);
});

test('Withdraw sees what the outbox holds, and deletes nothing of it', async () => {
  for (const key of [staged, direct])
    expect([await as('withdraw').head(key), await as('withdraw').remove(key)]).toEqual([200, 403]);
});

describe('what no other role does, whatever its own policies allow', () => {
  const everything = () => callsWith(service.connection.credentials);
  const key = () => String(service.engine.functions.definition('settle-delivery').environment.RECEIPT_KEY_ARNS);

  test('is writing containers and receipts, and signing receipts', async () => {
    const operator = everything();
    expect(await operator.put('SMOKE-1/probe')).toBe(200);
    for (const written of [direct, staged, receipt]) {
      expect([await operator.get(written), await operator.put(written)]).toEqual([200, 403]);
    }
    expect([await operator.publicKey(key()), await operator.sign(key())]).toEqual([200, 400]);
  });

  test('is not deleting: operators purge what a person has', async () => {
    const name = `${'0a'.repeat(32)}/EGAF2-b.c4gh`;
    expect([await as('stage-file').put(name), await everything().remove(name)]).toEqual([200, 204]);
  });
});

describe('the key of a bucket', () => {
  const body = () => ({ Bucket: service.connection.outputs.ArchiveBucketName, Key: 'body' });
  beforeAll(() => service.s3.send(new PutObjectCommand({ ...body(), Body: 'bytes' })));

  test('is asked for when bytes are read: Withdraw sees the size of a container, and neither bytes nor checksum', async () => {
    const container = { Bucket, Key: staged };
    expect(await as('withdraw').headOf(container)).toBe(200);
    expect(await as('withdraw').headOf({ ...container, ChecksumMode: 'ENABLED' })).toBe(403);
    expect(await as('stage-file').headOf({ ...container, ChecksumMode: 'ENABLED' })).toBe(200);
  });

  test('and the rights on an object are those of the signer of a URL, at the time of the request', async () => {
    expect(await as('direct-file').signed(body())).toEqual([200, undefined]);
    expect(await as('drs').signed(body())).toEqual([403, 'AccessDenied']);
    expect(await as('stream').signed({ Bucket, Key: staged })).toEqual([200, undefined]);
    expect(await as('stream').signed({ Bucket, Key: direct })).toEqual([403, 'AccessDenied']);
  });
});

describe('the key of receipts', () => {
  const keyArn = () => String(service.engine.functions.definition('settle-delivery').environment.RECEIPT_KEY_ARNS);

  test('signs for SettleDelivery alone', async () => {
    expect(await as('settle-delivery').sign(keyArn())).toBe(200);
    for (const other of ['jwks', 'stage-file', 'consume-export', 'stream']) {
      expect(await as(other).sign(keyArn())).toBe(400);
    }
  });

  test('is published by Jwks alone', async () => {
    expect(await as('jwks').publicKey(keyArn())).toBe(200);
    expect(await as('stage-file').publicKey(keyArn())).toBe(400);
  });
});

describe('a queue', () => {
  test.each([
    ['ExportRequestsQueueUrl', ['export'], ['consume-export', 'stage-file', 'stream']],
    [
      'FileExportsQueueUrl',
      ['consume-export', 'stage-file', 'sweep-deliveries'],
      ['export', 'record-dead-letters', 'stream'],
    ],
    ['SmallFileExportsQueueUrl', ['consume-export', 'sweep-deliveries'], ['export', 'stage-file', 'stream']],
    [
      'DeliveriesQueueUrl',
      ['stage-file', 'record-dead-letters', 'sweep-deliveries', 'withdraw'],
      ['export', 'consume-export', 'settle-delivery', 'stream', 'direct-file'],
    ],
  ] as const)('%s takes messages of %s only', async (output, senders, others) => {
    const url = service.connection.outputs[output];
    for (const sender of senders) expect(await as(sender).send(url)).toBe(200);
    for (const other of others) expect(await as(other).send(url)).toBe(400);
  });

  const outputs = [
    'ExportRequestsQueueUrl',
    'FileExportsQueueUrl',
    'SmallFileExportsQueueUrl',
    'DeliveriesQueueUrl',
    'ExportRequestsDeadLetterQueueUrl',
    'FileExportsDeadLetterQueueUrl',
    'SmallFileExportsDeadLetterQueueUrl',
    'DeliveriesDeadLetterQueueUrl',
  ] as const;

  test('takes none from an operator who may do everything', async () => {
    const operator = callsWith(service.connection.credentials);
    for (const output of outputs)
      expect([output, await operator.send(service.connection.outputs[output])]).toEqual([output, 400]);
  });

  test('takes messages of exports from an operator in the role that is for it, and no request', async () => {
    const { region, credentials, endpoints, outputs: stack } = service.connection;
    const sts = new STSClient({ region, credentials, endpoint: endpoints.sts });
    const role = { RoleArn: stack.RedriveRoleArn, RoleSessionName: 'test' };
    const { Credentials: given } = await sts.send(new AssumeRoleCommand(role));
    const {
      AccessKeyId: accessKeyId = '',
      SecretAccessKey: secretAccessKey = '',
      SessionToken: sessionToken = '',
    } = given ?? {};
    const operator = callsWith({ accessKeyId, secretAccessKey, sessionToken });
    const taken: string[] = [];
    for (const output of outputs) if ((await operator.send(stack[output])) === 200) taken.push(output);
    expect(taken).toEqual(['FileExportsQueueUrl', 'SmallFileExportsQueueUrl', 'DeliveriesQueueUrl']);
  });
});
