import { DeleteObjectsCommand, ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { beforeEach, describe, expect, test } from 'vitest';
import { escapeXml } from '../../../lib/local/endpoint/errors.ts';
import { queryReply } from '../../../lib/local/endpoint/query-protocol.ts';
import { removeSmokeObjects } from '../../../lib/stores/s3/smoke-objects.ts';
import { topicFacts } from '../../../lib/stores/sns/topic.ts';
import { scripted, testClient } from '../../helpers/http-handler.ts';

describe('the facts of the alarm topic', () => {
  const statement = { Effect: 'Allow', Principal: { Service: 'cloudwatch.amazonaws.com' }, Action: 'sns:Publish' };
  const facts = (statements: readonly object[], arns: readonly string[]) => {
    const policy = escapeXml(JSON.stringify({ Statement: statements }));
    const members = arns.map((arn) => `<member><SubscriptionArn>${arn}</SubscriptionArn></member>`).join('');
    const attributes = `<Attributes><entry><key>Policy</key><value>${policy}</value></entry></Attributes>`;
    const { handler: requestHandler } = scripted([
      queryReply('GetTopicAttributes', 'http://sns.amazonaws.com/doc/2010-03-31/', attributes),
      queryReply(
        'ListSubscriptionsByTopic',
        'http://sns.amazonaws.com/doc/2010-03-31/',
        `<Subscriptions>${members}</Subscriptions>`,
      ),
    ]);
    const options = { ...testClient, requestHandler };
    return topicFacts('arn:aws:sns:eu-north-1:1:t', options);
  };

  test('tell whether CloudWatch may publish', async () => {
    const takes = async (...statements: object[]) => (await facts(statements, [])).takesAlarms;
    expect(await takes({ ...statement, Effect: 'Deny' }, statement)).toBe(true);
    expect(await takes({ ...statement, Action: ['SNS:Publish', 'SNS:Subscribe'] })).toBe(true);
    expect(await takes({ ...statement, Effect: 'Deny' })).toBe(false);
    expect(await takes({ ...statement, Principal: { AWS: '*' } }, { ...statement, Principal: '*' })).toBe(false);
    expect(await takes({ ...statement, Action: 'sns:Subscribe' })).toBe(false);
    expect(await takes()).toBe(false);
  });

  test('count the subscriptions that are confirmed, and those that wait', async () => {
    expect(await facts([], ['arn:aws:sns:eu-north-1:1:t:a', 'PendingConfirmation'])).toMatchObject({
      confirmed: 1,
      pending: 1,
    });
    expect(await facts([], [])).toMatchObject({ confirmed: 0, pending: 0 });
  });
});

describe('removing objects of smoke tests', () => {
  const deleted: string[] = [];
  const times: Readonly<Record<string, Date>> = {
    'SMOKE-old/1': new Date('2026-11-22T08:00:00Z'),
    'SMOKE-new/1': new Date('2026-11-22T11:00:00Z'),
  };
  const client = new S3Client({ region: 'eu-north-1' });
  client.send = (async (command: unknown) => {
    if (command instanceof ListObjectsV2Command) {
      return { Contents: Object.entries(times).map(([Key, LastModified]) => ({ Key, LastModified })) };
    }
    if (command instanceof ListMultipartUploadsCommand) return {};
    if (!(command instanceof DeleteObjectsCommand)) throw new Error('an unknown call');
    const { Objects = [] } = command.input.Delete ?? {};
    deleted.push(...Objects.map(({ Key = '' }) => Key));
    return Objects.some(({ Key }) => Key === 'SMOKE-new/1') ? { Errors: [{ Key: 'x', Code: 'AccessDenied' }] } : {};
  }) as S3Client['send'];
  beforeEach(() => {
    deleted.length = 0;
  });

  test('leaves those that are young', async () => {
    const before = new Date('2026-11-22T10:00:00Z');
    expect(await removeSmokeObjects(client, { bucket: 'b', prefix: 'SMOKE-', before })).toBe(1);
    expect(deleted).toEqual(['SMOKE-old/1']);
  });

  test('throws what S3 says of a single object', async () => {
    const all = { bucket: 'b', prefix: 'SMOKE-', before: new Date('2026-11-22T12:00:00Z') };
    await expect(removeSmokeObjects(client, all)).rejects.toMatchObject({ name: 'AccessDenied' });
  });

  test.each(['', '/', 'EGAD1/', 'SMOKE', `${'a'.repeat(64)}/`, `${'a'.repeat(64)}/EGAF1`, `x/SMOKE_2d1`])(
    'refuses the prefix %j',
    async (prefix) => {
      const before = new Date();
      await expect(removeSmokeObjects(client, { bucket: 'b', prefix, before })).rejects.toThrow(RangeError);
      expect(deleted).toEqual([]);
    },
  );
});
