import { expectThat } from '../../demo/steps.ts';
import { type TopicFacts, topicFacts } from '../../stores/sns/topic.ts';
import { type Check, NotApplicable } from '../check.ts';
import type { Run } from '../run.ts';

async function factsOf({ resources, deployment }: Run): Promise<TopicFacts> {
  const topic = (await resources()).find(
    ({ type, logicalId }) => type === 'AWS::SNS::Topic' && /^Alarms/.test(logicalId),
  );
  expectThat(topic !== undefined, 'the service stack has no alarm topic');
  return await topicFacts(topic.physicalId, deployment.clients.sns);
}

const policy: Check = {
  id: 'alarm-topic',
  title: 'the policy of the alarm topic lets CloudWatch publish',
  remedy: 'Deploy the service stack again: its template has the statement for cloudwatch.amazonaws.com.',
  async run(run) {
    expectThat((await factsOf(run)).takesAlarms, 'no statement allows cloudwatch.amazonaws.com');
    return 'it does';
  },
};

const subscription: Check = {
  id: 'alarm-subscription',
  title: 'a person gets the alarms: a subscription of the topic is confirmed',
  remedy:
    'Open the message of AWS to the address of alarmEmail, and follow its link. Or subscribe to the output AlarmTopicArn.',
  async run(run) {
    const { confirmed, pending } = await factsOf(run);
    if (run.deployment.connection) throw new NotApplicable('the local engine sends no alarms');
    expectThat(confirmed > 0, `no subscription is confirmed, ${pending} wait`);
    return `${confirmed} confirmed, ${pending} wait`;
  },
};

export const alarmChecks = [policy, subscription];
