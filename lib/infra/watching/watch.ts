import { Duration, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  Dashboard,
  GraphWidget,
  TextWidget,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { acknowledge } from '../security/rules.ts';
import type { Settings } from '../settings.ts';
import { KeyDeletion, keysInSettings, keysOf } from './key-deletion.ts';
import { type Watched, watched } from './table.ts';

/** Make the alarms, the message about keys, and the dashboard. Call it last: it watches the keys that the scope has by then. */
export function watch(
  scope: Construct,
  { settings, ...props }: { readonly settings: Settings } & Omit<Watched, 'keyRules'>,
): { readonly topicArn: string; readonly dashboardUrl: string } {
  const alarmScope = new Construct(scope, 'Alarms');
  const topic = alarmTopic(alarmScope, settings.alarmEmail);
  const keyArns = [...keysOf(props.storage, scope), ...keysInSettings(settings)];
  const { rules: keyRules } = new KeyDeletion(scope, 'KeyDeletion', { keyArns, topic });
  const { alarms, graphs } = watched(scope, { ...props, keyRules });
  const { stackName, region } = Stack.of(scope);

  const action = new SnsAction(topic);
  for (const [name, row] of Object.entries(alarms)) {
    if (row === undefined) continue;
    const [metric, says, { threshold = 1, periods = 1, points } = {}] = row;
    const alarm = new Alarm(alarmScope, name, {
      alarmName: `${stackName}-${name}`,
      alarmDescription: `${says} What to do: docs/runbook.md#${name.toLowerCase()}`,
      metric,
      threshold,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      evaluationPeriods: periods,
      ...(points !== undefined && { datapointsToAlarm: points }),
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
  }

  const more = 'In the repository: `docs/runbook.md` has an article for each alarm, under its name.';
  const markdown = `# ${stackName}: an export's day\nFrom the request to the outbox. ${more}`;
  new Dashboard(new Construct(scope, 'Dashboard'), 'Dashboard', {
    dashboardName: stackName,
    defaultInterval: Duration.days(1),
    widgets: [
      [new TextWidget({ width: 24, height: 2, markdown })],
      ...graphs.map((row) =>
        row.map(([title, left, right = []]) => new GraphWidget({ title, left, right, width: 6, height: 6 })),
      ),
    ],
  });
  const dashboardUrl = `https://${region}.console.aws.amazon.com/cloudwatch/home?region=${region}#dashboards/dashboard/${stackName}`;
  return { topicArn: topic.topicArn, dashboardUrl };
}

/** Receives a message when an alarm goes off, and when it ends. */
function alarmTopic(scope: Construct, email: string | undefined): Topic {
  const topic = new Topic(scope, 'Topic', { enforceSSL: true });
  acknowledge(topic, {
    'HIPAA.Security-SNSEncryptedKMS':
      'A message holds the name and the figures of an alarm, or the name of a key, and nothing of a person. It is sent by e-mail, unencrypted.',
  });
  // Our policy replaces the default one of SNS, which lets CloudWatch publish.
  topic.addToResourcePolicy(
    new PolicyStatement({
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: ['sns:Publish'],
      resources: [topic.topicArn],
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
    }),
  );
  if (email !== undefined) {
    acknowledge(topic.addSubscription(new EmailSubscription(email)), {
      'Serverless-SNSRedrivePolicy':
        'SNS repeats an e-mail that failed. A queue of lost alarms would need an alarm; CloudWatch shows every alarm as well.',
    });
  }
  return topic;
}
