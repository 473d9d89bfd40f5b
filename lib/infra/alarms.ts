import { Duration, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { deploymentDimension, metricNamespace, metricService, metrics } from '../contract/metrics.ts';
import { acknowledge } from './acknowledge.ts';
import { rules } from './security-rules.ts';
import type { ServiceApi } from './service-api.ts';
import type { ServiceFunction } from './service-function.ts';

interface AlarmsProps {
  /** Address that is subscribed to the topic. @default - none */
  readonly email: string | undefined;
}

interface AlarmRule {
  readonly metric: IMetric;
  /** What has happened, in one sentence. */
  readonly description: string;
  /** The alarm goes off at this value or above. @default 1 */
  readonly threshold?: number;
  /** Periods in a row. @default 1 */
  readonly periods?: number;
}

const period = Duration.minutes(5);

/** Alarms on what needs a person. Each has an article of the same name in `docs/runbook.md`. */
export class Alarms extends Construct {
  /** Receives a message when an alarm goes off, and when it ends. */
  readonly topic: Topic;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.topic = new Topic(this, 'Topic', { enforceSSL: true });
    acknowledge(
      this.topic,
      'A message holds the name and the figures of an alarm, and nothing of a person. It goes on by e-mail, in clear.',
      ...rules.topicKey,
    );
    // Our policy replaces the default one of SNS, which lets CloudWatch publish.
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
    if (props.email !== undefined) {
      const subscription = this.topic.addSubscription(new EmailSubscription(props.email));
      acknowledge(
        subscription,
        'SNS repeats an e-mail that failed. A queue of lost alarms would need an alarm; CloudWatch shows every alarm as well.',
        ...rules.deadLettersOfTopics,
      );
    }
  }

  /** Messages that failed for good. */
  deadLetters(name: string, queue: IQueue): void {
    this.#add(`${name}DeadLetters`, {
      metric: queue.metricApproximateNumberOfMessagesVisible({ period, statistic: 'Maximum' }),
      description: 'A message failed five times and waits in the dead-letter queue.',
    });
  }

  /** Messages that wait too long: the worker is stuck or too slow. */
  age(name: string, queue: IQueue, limit: Duration): void {
    this.#add(`${name}Age`, {
      metric: queue.metricApproximateAgeOfOldestMessage({ period, statistic: 'Maximum' }),
      description: `The oldest message has waited for more than ${limit.toHumanString()}.`,
      threshold: limit.toSeconds(),
      periods: 3,
    });
  }

  /** Errors and throttles of a group of functions (at most ten: CloudWatch takes no more metrics in an alarm). */
  functions(name: string, functions: readonly ServiceFunction[]): void {
    const sum = (metricName: 'metricErrors' | 'metricThrottles') =>
      new MathExpression({
        expression: functions.map((_, index) => `m${index}`).join(' + '),
        usingMetrics: Object.fromEntries(
          functions.map((target, index) => [`m${index}`, target.function[metricName]({ period, statistic: 'Sum' })]),
        ),
        period,
        label: name,
      });
    this.#add(`${name}Errors`, {
      metric: sum('metricErrors'),
      description: 'A function ended with an error or at its time limit.',
    });
    this.#add(`${name}Throttles`, {
      metric: sum('metricThrottles'),
      description: "Invocations were refused because the account's or a function's concurrency is used up.",
      periods: 3,
    });
  }

  /** Replies of an API with a status of 500 or more. */
  serverErrors(name: string, target: ServiceApi): void {
    this.#add(`${name}ServerErrors`, {
      metric: target.api.deploymentStage.metricServerError({ period, statistic: 'Sum' }),
      description: 'Requests were answered with a status of 500 or more.',
      threshold: 5,
    });
  }

  /** A run, one an interval, left containers of deprecated datasets in the outbox. */
  withdrawnInOutbox(interval: Duration): void {
    this.#add('WithdrawnInOutbox', {
      // Every period has a run, so that the alarm does not end between two of them.
      metric: this.#own(metrics.withdrawnInOutbox, 'Maximum', Duration.minutes(2 * interval.toMinutes())),
      description: 'The outbox has containers of a dataset that is deprecated.',
    });
  }

  /** The archive contradicts its catalogue. */
  archiveDamaged(): void {
    this.#add('ArchiveDamaged', {
      metric: this.#own(metrics.archiveDamaged, 'Sum', period),
      description: 'A body is missing or has the wrong size, or no archive key opens a header.',
    });
  }

  /** A metric of the functions of this deployment. */
  #own(metricName: string, statistic: 'Maximum' | 'Sum', over: Duration): Metric {
    const dimensionsMap = { service: metricService, [deploymentDimension]: Stack.of(this).stackName };
    return new Metric({ namespace: metricNamespace, metricName, dimensionsMap, period: over, statistic });
  }

  #add(name: string, rule: AlarmRule): void {
    const alarm = new Alarm(this, name, {
      alarmName: `${Stack.of(this).stackName}-${name}`,
      alarmDescription: `${rule.description} What to do: docs/runbook.md#${name.toLowerCase()}`,
      metric: rule.metric,
      threshold: rule.threshold ?? 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      evaluationPeriods: rule.periods ?? 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    const action = new SnsAction(this.topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
  }
}
