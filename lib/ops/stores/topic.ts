import { CloudWatchClient, GetMetricStatisticsCommand } from '@aws-sdk/client-cloudwatch';
import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { ListSubscriptionsByTopicCommand, SNSClient } from '@aws-sdk/client-sns';
import { eventSource, smokeDetailType } from '../../contract/events.ts';
import { type AwsClientOptions, eventBridgeClient } from '../../service/stores/clients.ts';

/** How many subscriptions of a topic are confirmed, and how many wait for it. At most 100 are counted. */
export async function subscriptionsOf(
  topicArn: string,
  options: AwsClientOptions,
): Promise<{ readonly confirmed: number; readonly pending: number }> {
  const { Subscriptions = [] } = await new SNSClient(options).send(
    new ListSubscriptionsByTopicCommand({ TopicArn: topicArn }),
  );
  // A subscription that waits has this word instead of an ARN.
  const pending = Subscriptions.filter((each) => each.SubscriptionArn === 'PendingConfirmation').length;
  return { confirmed: Subscriptions.length - pending, pending };
}

/** How many messages of a topic reached a subscriber since a time. CloudWatch knows minutes later. */
export async function messagesDelivered(
  topicArn: string,
  since: Date,
  options: AwsClientOptions,
  client: Pick<CloudWatchClient, 'send'> = new CloudWatchClient(options),
): Promise<number> {
  const { Datapoints = [] } = await client.send(
    new GetMetricStatisticsCommand({
      Namespace: 'AWS/SNS',
      MetricName: 'NumberOfNotificationsDelivered',
      Dimensions: [{ Name: 'TopicName', Value: topicArn.split(':').at(-1) }],
      StartTime: since,
      // A minute ahead, so that the period that has begun is asked for.
      EndTime: new Date(Date.now() + 60_000),
      Period: 60,
      Statistics: ['Sum'],
    }),
  );
  return Datapoints.reduce((total, { Sum = 0 }) => total + Sum, 0);
}

/** Send the event by which the smoke test tries the messages about keys. @throws when EventBridge does not take it */
export async function sendSmokeEvent(
  topicArn: string,
  options: AwsClientOptions,
  client: Pick<EventBridgeClient, 'send'> = eventBridgeClient(options),
): Promise<void> {
  const entry = { Source: eventSource, DetailType: smokeDetailType, Detail: '{}', Resources: [topicArn] };
  const { Entries: [result] = [] } = await client.send(new PutEventsCommand({ Entries: [entry] }));
  if (result?.ErrorCode) throw Object.assign(new Error(result.ErrorMessage), { name: result.ErrorCode });
}
