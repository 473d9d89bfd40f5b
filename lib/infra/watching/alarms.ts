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
import type { Rule } from 'aws-cdk-lib/aws-events';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { metrics } from '../../contract/metrics.ts';
import type { ServiceApi } from '../apis/service-api.ts';
import type { ServiceFunction } from '../functions/service-function.ts';
import type { WorkQueue } from '../queues/queues.ts';
import { acknowledge } from '../security/rules.ts';
import type { Catalogue } from '../storage/catalogue.ts';
import { serviceMetric } from './service-metrics.ts';

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
  /** How many of these periods have to be over the threshold. @default - all */
  readonly points?: number;
}

const period = Duration.minutes(5);

/** Alarms on what needs a person. Each has an article of the same name in `docs/runbook.md`. */
export class Alarms extends Construct {
  /** Receives a message when an alarm goes off, and when it ends. */
  readonly topic: Topic;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.topic = new Topic(this, 'Topic', { enforceSSL: true });
    acknowledge(this.topic, {
      topicKey:
        'A message holds the name and the figures of an alarm, or the name of a key, and nothing of a person. It is sent by e-mail, unencrypted.',
    });
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
      acknowledge(subscription, {
        deadLettersOfTopics:
          'SNS repeats an e-mail that failed. A queue of lost alarms would need an alarm; CloudWatch shows every alarm as well.',
      });
    }
  }

  /** Dead letters that nothing records: each is either visible, or at hand for another try. */
  deadLetters({ node, deadLetters }: WorkQueue): void {
    const usingMetrics = {
      visible: deadLetters.metricApproximateNumberOfMessagesVisible({ period, statistic: 'Maximum' }),
      held: deadLetters.metricApproximateNumberOfMessagesNotVisible({ period, statistic: 'Maximum' }),
    };
    const expression = 'FILL(visible, 0) + FILL(held, 0)';
    this.#add(`${node.id}DeadLetters`, {
      metric: new MathExpression({ expression, usingMetrics, period, label: 'dead letters' }),
      description: 'The dead-letter queue has had messages for an hour, which the service cannot record.',
      periods: 12,
    });
  }

  /** Files that every attempt failed for, or that no attempt can help. */
  filesGivenUp(): void {
    this.#add('FilesGivenUp', {
      metric: serviceMetric(this, metrics.fileGivenUp, { statistic: 'Sum', period }),
      description: 'Files of accepted requests were given up.',
    });
  }

  /** Messages that wait too long: the worker is stuck or too slow. */
  age({ node, queue }: WorkQueue, limit: Duration): void {
    this.#add(`${node.id}Age`, {
      metric: queue.metricApproximateAgeOfOldestMessage({ period, statistic: 'Maximum' }),
      description: `The oldest message has waited for more than ${limit.toHumanString()}.`,
      threshold: limit.toSeconds(),
      periods: 3,
    });
  }

  /** Errors of a group of functions (at most ten: CloudWatch takes no more metrics in an alarm). */
  errors(name: string, functions: readonly ServiceFunction[]): void {
    this.#add(`${name}Errors`, {
      metric: sumOver(functions, 'metricErrors', name),
      description: 'A function ended with an error or at its time limit.',
    });
  }

  /** Errors and throttles of a group of functions, at most ten. */
  functions(name: string, functions: readonly ServiceFunction[]): void {
    this.errors(name, functions);
    this.#add(`${name}Throttles`, {
      metric: sumOver(functions, 'metricThrottles', name),
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

  /**
   * Requests that are refused far more often than not: guessed credentials, or a client that does something wrong over and
   * over. Some clients send credentials only when asked, so that half of their requests are refused on any day. Scanners ask
   * any public address for what it does not have: unknown paths do not count.
   */
  clientErrors(name: string, target: ServiceApi): void {
    const over = Duration.minutes(15);
    const refused = target.countReplies(
      'ClientErrors',
      '{ $.status = "4*" && $.status != "429" && $.gatewayResponse != "MISSING_AUTHENTICATION_TOKEN" }',
    );
    this.#add(`${name}ClientErrors`, {
      metric: percentage(
        refused.metric({ statistic: 'Sum', period: over }),
        target.api.deploymentStage.metricCount({ statistic: 'Sum', period: over }),
        { least: 100, over },
      ),
      description: 'Three quarters or more of at least 100 requests within 15 minutes were refused with a 4xx.',
      threshold: 75,
    });
  }

  /** Callers meet the limits of `throttling` for longer than a burst lasts. API Gateway counts 429 among all 4xx. */
  throttled(name: string, target: ServiceApi): void {
    const filter = target.countReplies('Throttled', '{ $.status = "429" }');
    this.#add(`${name}Throttled`, {
      metric: filter.metric({ statistic: 'Sum', period }),
      description: 'A hundred requests or more were refused with 429 in each of three periods of 5 minutes.',
      threshold: 100,
      periods: 3,
    });
  }

  /**
   * Replies that are ready at once are slow. A cold start takes about a second, and a database that wakes up is answered for
   * after 8 seconds: neither lasts for three periods.
   */
  latency(name: string, target: ServiceApi): void {
    const { deploymentStage: stage } = target.api;
    const latencies = target.promptMethods.map((method) => method.metricLatency(stage, { statistic: 'p95', period }));
    this.#add(`${name}Latency`, {
      metric: new MathExpression({
        // Without FILL, a method without calls would leave the others without a value.
        expression: `MAX([${latencies.map((_, index) => `FILL(m${index}, 0)`).join(', ')}])`,
        usingMetrics: numbered(latencies),
        period,
        label: name,
      }),
      description: 'The slowest 5 % of the replies of a route took 5 seconds or more for a quarter of an hour.',
      threshold: 5000,
      periods: 3,
    });
  }

  /** The cluster is at its limits, whether the storage stack made it or not. */
  database({ clusterIdentifier, maxConnections }: Catalogue): void {
    const ofCluster = (metricName: string, statistic: 'Average' | 'Maximum') =>
      new Metric({
        namespace: 'AWS/RDS',
        metricName,
        dimensionsMap: { DBClusterIdentifier: clusterIdentifier },
        statistic,
        period,
      });
    this.#add('DatabaseCapacity', {
      // A cluster that is not serverless has no such metric, and no alarm.
      metric: ofCluster('ACUUtilization', 'Average'),
      description: 'The database has used 90 % or more of its highest capacity for half an hour.',
      threshold: 90,
      periods: 6,
    });
    this.#add('DatabaseConnections', {
      metric: ofCluster('DatabaseConnections', 'Maximum'),
      description: 'Two thirds or more of the connections that the database takes are open.',
      threshold: Math.floor((2 * maxConnections) / 3),
      periods: 3,
    });
  }

  /**
   * Exports are rejected more often than accepted. A single rejection is between an administrator and a recipient. A band by
   * anomaly detection would need weeks of exports, and cost three times as much.
   */
  exportsRejected(): void {
    const over = Duration.hours(1);
    const sum = (name: typeof metrics.exportRejected | typeof metrics.exportAccepted) =>
      serviceMetric(this, name, { statistic: 'Sum', period: over });
    const [rejected, accepted] = [sum(metrics.exportRejected), sum(metrics.exportAccepted)];
    const all = new MathExpression({
      expression: 'FILL(accepted, 0) + FILL(refused, 0)',
      usingMetrics: { accepted, refused: rejected },
      period: over,
    });
    this.#add('ExportsRejected', {
      metric: percentage(rejected, all, { least: 10, over }),
      description: 'Half or more of at least ten export requests within an hour were rejected.',
      threshold: 50,
    });
  }

  /** A run, one an interval, left containers of deprecated datasets in the outbox. */
  withdrawnInOutbox(interval: Duration): void {
    this.#add('WithdrawnInOutbox', {
      // Every period has a run, so that the alarm does not end between two of them.
      metric: serviceMetric(this, metrics.withdrawnInOutbox, {
        statistic: 'Maximum',
        period: Duration.minutes(2 * interval.toMinutes()),
      }),
      description: 'The outbox has containers of a dataset that is deprecated.',
    });
  }

  /** The daily sweep had to settle requests, whose own messages are gone. */
  deliveryOverdue(): void {
    this.#add('DeliveryOverdue', {
      metric: serviceMetric(this, metrics.deliveryOverdue, { statistic: 'Sum', period: Duration.days(1) }),
      description: 'The daily sweep found requests without a receipt although all their files had ended.',
    });
  }

  /** The archive contradicts its catalogue. */
  archiveDamaged(): void {
    this.#add('ArchiveDamaged', {
      metric: serviceMetric(this, metrics.archiveDamaged, { statistic: 'Sum', period }),
      description: 'A body is missing or has the wrong size, or no archive key opens a header.',
    });
  }

  /** Events of a group of rules (at most ten) that did not reach their target. */
  undelivered(name: string, rules: readonly Rule[]): void {
    const failed = rules.map(
      ({ ruleName }) =>
        new Metric({
          ...{ namespace: 'AWS/Events', metricName: 'FailedInvocations', dimensionsMap: { RuleName: ruleName } },
          ...{ statistic: 'Sum', period },
        }),
    );
    this.#add(`${name}Undelivered`, {
      metric: new MathExpression({
        // The metric has values only where an event failed.
        expression: failed.map((_, index) => `FILL(m${index}, 0)`).join(' + '),
        usingMetrics: numbered(failed),
        period,
        label: name,
      }),
      description: 'A message about a KMS key could not be published.',
      // The newest point is a filled one as long as the metric is late.
      ...{ periods: 3, points: 1 },
    });
  }

  #add(name: string, rule: AlarmRule): void {
    const alarm = new Alarm(this, name, {
      alarmName: `${Stack.of(this).stackName}-${name}`,
      alarmDescription: `${rule.description} What to do: docs/runbook.md#${name.toLowerCase()}`,
      metric: rule.metric,
      threshold: rule.threshold ?? 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      evaluationPeriods: rule.periods ?? 1,
      ...(rule.points !== undefined && { datapointsToAlarm: rule.points }),
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    const action = new SnsAction(this.topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
  }
}

/** Metrics by the names that an expression gives them. */
function numbered(all: readonly IMetric[]): Record<string, IMetric> {
  return Object.fromEntries(all.map((metric, index) => [`m${index}`, metric]));
}

function sumOver(
  functions: readonly ServiceFunction[],
  metricName: 'metricErrors' | 'metricThrottles',
  label: string,
): MathExpression {
  return new MathExpression({
    expression: functions.map((_, index) => `m${index}`).join(' + '),
    usingMetrics: numbered(functions.map((target) => target.function[metricName]({ period, statistic: 'Sum' }))),
    period,
    label,
  });
}

/** Percentage of a part of the total; 0 where there are fewer than `least`, so that a handful says nothing. */
function percentage(
  part: IMetric,
  total: IMetric,
  { least, over }: { readonly least: number; readonly over: Duration },
): MathExpression {
  return new MathExpression({
    expression: `IF(FILL(total, 0) >= ${least}, 100 * FILL(part, 0) / total, 0)`,
    usingMetrics: { part, total },
    period: over,
    label: 'percent',
  });
}
