import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { GetSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { ChangeMessageVisibilityCommand, ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, describe, expect, it } from 'vitest';
import { startEngine } from '../../lib/local/engine.ts';
import { writeFixtureAssembly } from '../e2e/local/fixtures/assembly.ts';
import { Service, until } from '../helpers/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'data-out-state-'));
const assemblyDir = writeFixtureAssembly(join(folder, 'assembly'));
const dataDir = join(folder, 'data');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a data folder', () => {
  it('gives everything back at the next start, and belongs to one engine at a time', async () => {
    const first = await Service.start({ assemblyDir, dataDir });
    const { outputs, admin, archiveUser, issuer } = first.connection;
    const object = { Bucket: outputs.ArchiveBucketName, Key: 'a b/ü' };
    await first.s3.send(new PutObjectCommand({ ...object, Body: 'kept' }));
    const upload = { ...object, Key: 'unfinished' };
    const { UploadId } = await first.s3.send(new CreateMultipartUploadCommand(upload));
    await first.s3.send(new UploadPartCommand({ ...upload, UploadId, PartNumber: 3, Body: '1234' }));
    await first.sqs.send(
      new SendMessageCommand({ QueueUrl: outputs.FileExportsDeadLetterQueueUrl, MessageBody: 'kept' }),
    );
    await first.sql(`insert into data_out.kept values ('row')`);
    const secret = () => new GetSecretValueCommand({ SecretId: outputs.AdminSecretArn });
    const { SecretString } = await first.secretsManager.send(secret());
    const key = readFileSync(issuer.privateKeyPath, 'utf8');
    await expect(startEngine({ assemblyDir, dataDir })).rejects.toThrow(/in use by another engine/);
    await first.stop();
    expect(existsSync(join(dataDir, 'engine.lock'))).toBe(false);

    // The lock of a process that died.
    writeFileSync(join(dataDir, 'engine.lock'), '999999999');
    const second = await Service.start({ assemblyDir, dataDir });
    const now = second.connection;
    expect([now.admin, now.archiveUser, now.issuer]).toEqual([admin, archiveUser, issuer]);
    expect(now.outputs.ArchiveBucketName).toBe(outputs.ArchiveBucketName);
    expect(now.outputs.AdminSecretArn).toBe(outputs.AdminSecretArn);
    expect(readFileSync(issuer.privateKeyPath, 'utf8')).toBe(key);
    const { Body } = await second.s3.send(new GetObjectCommand(object));
    expect(await Body?.transformToString()).toBe('kept');
    const { Parts } = await second.s3.send(new ListPartsCommand({ ...upload, UploadId }));
    expect(Parts?.map(({ PartNumber, Size }) => [PartNumber, Size])).toEqual([[3, 4]]);
    const QueueUrl = now.outputs.FileExportsDeadLetterQueueUrl;
    const { Messages } = await second.sqs.send(new ReceiveMessageCommand({ QueueUrl }));
    expect(Messages?.map((message) => message.Body)).toEqual(['kept']);
    // A function may make a message visible at once.
    const ReceiptHandle = Messages?.[0]?.ReceiptHandle;
    await second.sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }));
    const again = await second.sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 3 }));
    expect(again.Messages?.map((message) => message.Body)).toEqual(['kept']);
    expect(await second.sql('select value from data_out.kept')).toEqual([['row']]);
    expect((await second.secretsManager.send(secret())).SecretString).toBe(SecretString);
    await second.stop();
  });

  it('gives a message in flight back when the engine stops', async () => {
    const first = await Service.start({ assemblyDir, dataDir });
    const { outputs, logsDir } = first.connection;
    expect(existsSync(logsDir)).toBe(true);
    const MessageBody = JSON.stringify({ do: 'sleep', key: 'interrupted' });
    await first.sqs.send(new SendMessageCommand({ QueueUrl: outputs.ExportRequestsQueueUrl, MessageBody }));
    const isReceived = (line: string) => line.includes('interrupted');
    await until(() => first.logs.find(({ line }) => isReceived(line)), 'the invocation');
    await first.stop();
    const second = await Service.start({ assemblyDir, dataDir });
    const again = await until(() => second.logs.find(({ line }) => isReceived(line)), 'the second receive');
    expect(JSON.parse(again.line).record.attributes.ApproximateReceiveCount).toBe('2');
    await second.stop();
  });

  it('that cannot be written is reported in one sentence; so is a missing assembly', async () => {
    const file = join(folder, 'a-file');
    writeFileSync(file, '');
    await expect(startEngine({ assemblyDir, dataDir: join(file, 'data') })).rejects.toThrow(/cannot be written/);
    await expect(startEngine({ assemblyDir: join(folder, 'nothing') })).rejects.toThrow(
      /there is no cloud assembly in .*; run "npm run synth" first/,
    );
  });

  it('so is a port that is taken', async () => {
    const engine = await Service.start({ assemblyDir });
    const port = Number(new URL(engine.connection.proxyUrl).port);
    const connectionPath = join(folder, 'connection.json');
    await expect(startEngine({ assemblyDir, port, connectionPath })).rejects.toThrow(`port ${port} is taken`);
    await engine.stop();
  });
});
