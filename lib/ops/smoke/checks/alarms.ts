import { smokeDetailType } from '../../../contract/events.ts';
import { outputs } from '../../../contract/outputs.ts';
import { messagesDelivered, sendSmokeEvent, subscriptionsOf } from '../../stores/topic.ts';
import { type Check, expectThat, NotApplicable, poll } from '../check.ts';
import type { Run } from '../run.ts';

function topicOf({ deployment }: Run): string {
  const topic = deployment.outputs[outputs.alarmTopicArn];
  expectThat(topic !== undefined, 'the service stack has no alarm topic');
  return topic;
}

const subscription: Check = {
  id: 'alarm-subscription',
  title: 'a person gets the alarms: a subscription of the topic is confirmed',
  remedy:
    'Open the message of AWS to the address of alarmEmail, and follow its link. Or subscribe to the output AlarmTopicArn.',
  async run(run) {
    if (run.deployment.connection) throw new NotApplicable('the local engine sends no alarms');
    const { confirmed, pending } = await subscriptionsOf(topicOf(run), run.deployment.clientOptions('sns'));
    expectThat(confirmed > 0, `no subscription is confirmed, ${pending} wait`);
    return `${confirmed} confirmed, ${pending} wait`;
  },
};

const keyMessages: Check = {
  id: 'key-messages',
  title: 'a message about keys reaches a person: an event goes through the rule',
  needs: [subscription.id],
  remedy: 'Check the failed invocations of the rules about key deletion, and the policy of the alarm topic.',
  async run(run) {
    const options = run.deployment.clientOptions('sns');
    const topicArn = topicOf(run);
    const sent = new Date();
    await sendSmokeEvent(topicArn, options);
    const delivered = async () => (await messagesDelivered(topicArn, sent, options)) || undefined;
    const count = await poll(run, 900, 'NumberOfNotificationsDelivered of the alarm topic', delivered);
    return `${count} delivered; the subscribers got a message that begins with "${smokeDetailType}"`;
  },
};

export const alarmChecks = [subscription, keyMessages];
