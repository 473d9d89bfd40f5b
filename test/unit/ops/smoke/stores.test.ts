import { CloudWatchClient, type GetMetricStatisticsCommand } from '@aws-sdk/client-cloudwatch';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { DeleteObjectsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { beforeEach, describe, expect, test } from 'vitest';
import { removeSmokeObjects } from '../../../../lib/ops/stores/smoke-objects.ts';
import { messagesDelivered, sendSmokeEvent } from '../../../../lib/ops/stores/topic.ts';
import { scripted, testClient, textOf } from '../../../helpers/http-handler.ts';

describe('an event through the rule about keys', () => {
  const topic = 'arn:aws:sns:eu-north-1:1:t';
  const json = { 'content-type': 'application/x-amz-json-1.1' };

  test('is about the topic, and comes from no service of AWS', async () => {
    const body = JSON.stringify({ FailedEntryCount: 0, Entries: [{ EventId: '1' }] });
    const { handler: requestHandler, requests } = scripted([{ status: 200, headers: json, body }]);
    await sendSmokeEvent(topic, {}, new EventBridgeClient({ ...testClient, requestHandler }));
    expect(requests.map((request) => JSON.parse(textOf(request)))).toEqual([
      { Entries: [{ Source: 'data-out', DetailType: 'Smoke Test', Detail: '{}', Resources: [topic] }] },
    ]);
  });

  test.each([
    ['nothing yet', [], 0],
    ['two minutes with messages', [{ Sum: 1 }, { Sum: 2 }], 3],
  ])('is counted by what subscribers got: %s', async (_, Datapoints, count) => {
    const client = new CloudWatchClient(testClient);
    const sent: unknown[] = [];
    client.send = (async ({ input }: GetMetricStatisticsCommand) => {
      sent.push(input);
      return { Datapoints };
    }) as CloudWatchClient['send'];
    expect(await messagesDelivered(topic, new Date('2026-11-22T10:00:10Z'), {}, client)).toBe(count);
    expect(sent).toMatchObject([
      {
        ...{ Namespace: 'AWS/SNS', MetricName: 'NumberOfNotificationsDelivered', Statistics: ['Sum'] },
        ...{ Dimensions: [{ Name: 'TopicName', Value: 't' }], StartTime: new Date('2026-11-22T10:00:10Z') },
      },
    ]);
  });
});

describe('removing objects of smoke tests', () => {
  const deleted: string[] = [];
  let refused: object[] = [];
  const client = new S3Client({ region: 'eu-north-1' });
  client.send = (async (command: unknown) => {
    if (command instanceof ListObjectsV2Command) {
      return { Contents: [{ Key: 'SMOKE-1/1' }, { Key: 'SMOKE-2/1' }] };
    }
    if (!(command instanceof DeleteObjectsCommand)) throw new Error('an unknown call');
    const { Objects = [] } = command.input.Delete ?? {};
    deleted.push(...Objects.map(({ Key = '' }) => Key));
    return { Errors: refused };
  }) as S3Client['send'];
  beforeEach(() => {
    deleted.length = 0;
    refused = [];
  });

  test('deletes all below the prefix', async () => {
    expect(await removeSmokeObjects(client, { bucket: 'b', prefix: 'SMOKE-' })).toBe(2);
    expect(deleted).toEqual(['SMOKE-1/1', 'SMOKE-2/1']);
  });

  test.each(['', '/', 'EGAD1/', 'SMOKE', `${'a'.repeat(64)}/`, `${'a'.repeat(64)}/EGAF1`, `x/SMOKE_2d1`])(
    'refuses the prefix %j',
    async (prefix) => {
      await expect(removeSmokeObjects(client, { bucket: 'b', prefix })).rejects.toThrow(RangeError);
      expect(deleted).toEqual([]);
    },
  );
});
