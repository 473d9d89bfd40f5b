import { GetTopicAttributesCommand, ListSubscriptionsByTopicCommand, SNSClient } from '@aws-sdk/client-sns';
import * as z from 'zod';
import type { AwsClientOptions } from '../aws-client-options.ts';
import { storeFailure } from '../aws-failure.ts';

/** Who may publish to a topic, and who listens to it. */
export interface TopicFacts {
  /** Whether its policy lets CloudWatch publish. Without that no alarm arrives. */
  readonly takesAlarms: boolean;
  /** How many subscriptions are confirmed, and how many wait for it. At most 100 are counted. */
  readonly confirmed: number;
  readonly pending: number;
}

const oneOrMore = z.union([z.string().transform((one) => [one]), z.array(z.string())]);
const policy = z.object({
  Statement: z.array(
    z.object({
      Effect: z.string(),
      Action: oneOrMore,
      Principal: z.union([z.string(), z.record(z.string(), oneOrMore)]),
    }),
  ),
});

/** The facts of an alarm topic. */
export async function topicFacts(topicArn: string, options: AwsClientOptions): Promise<TopicFacts> {
  const client = new SNSClient(options);
  try {
    const { Attributes } = await client.send(new GetTopicAttributesCommand({ TopicArn: topicArn }));
    const { Subscriptions = [] } = await client.send(new ListSubscriptionsByTopicCommand({ TopicArn: topicArn }));
    const { Statement: statements } = policy.parse(JSON.parse(Attributes?.Policy ?? '{"Statement":[]}'));
    const takesAlarms = statements.some(
      ({ Effect, Action, Principal }) =>
        Effect === 'Allow' &&
        Action.some((action) => action.toLowerCase() === 'sns:publish') &&
        typeof Principal === 'object' &&
        Principal.Service?.includes('cloudwatch.amazonaws.com') === true,
    );
    // A subscription that waits has this word in place of an ARN.
    const pending = Subscriptions.filter((each) => each.SubscriptionArn === 'PendingConfirmation').length;
    return { takesAlarms, confirmed: Subscriptions.length - pending, pending };
  } catch (error) {
    throw storeFailure(error, 'SNS');
  }
}
