import { Duration, Stack } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Rule } from 'aws-cdk-lib/aws-events';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import {
  type BrokenDownMetric,
  breakdowns,
  deploymentDimension,
  metricNamespace,
  metricService,
  metrics,
} from '../../contract/metrics.ts';
import type { ServiceApi } from '../apis/service-api.ts';
import type { Functions } from '../functions/functions.ts';
import type { ServiceFunction } from '../functions/service-function.ts';
import type { WorkQueue } from '../queues/queues.ts';
import type { WorkQueues } from '../queues/work-queues.ts';
import type { StorageStack } from '../storage-stack.ts';

export interface Watched {
  readonly storage: StorageStack;
  readonly functions: Functions;
  readonly queues: WorkQueues;
  /** By the names that their alarms have. */
  readonly apis: Readonly<Record<string, ServiceApi>>;
  /** How often containers of deprecated datasets are looked for. Absent: they are not. */
  readonly withdrawInterval: Duration | undefined;
  /** Rules that publish messages about keys, at most ten: an alarm takes no more metrics. */
  readonly keyRules: readonly Rule[];
}

/**
 * An alarm on what needs a person: the metric, what has happened in one sentence, and when the alarm fires. It fires when the metric
 * reaches the threshold in all of so many periods in a row, or in `points` of them. By default one period of 1.
 */
export type AlarmRow = readonly [
  metric: IMetric,
  says: string,
  limits?: { threshold?: number; periods?: number; points?: number },
];

/** A graph: its title, the metrics of its left axis, and those of its right one. */
type Graph = readonly [title: string, left: IMetric[], right?: IMetric[]];

type ServiceMetric = (typeof metrics)[keyof typeof metrics];
type Statistic = 'Average' | 'Maximum' | 'Sum' | 'p50' | 'p95';

const period = Duration.minutes(5);
const hour = Duration.hours(1);
const day = Duration.days(1);
/** The longest that a message should wait: after that, the worker is stuck or too slow. */
const longestWait = {
  exportRequests: hour,
  fileExports: Duration.hours(6),
  smallFileExports: Duration.hours(6),
  deliveries: hour,
};

/** All that is watched: the alarms by their names, each with an article of the same name in `docs/runbook.md`, and the rows of the dashboard. */
export function watched(
  scope: Construct,
  { storage, functions, queues, apis, withdrawInterval, keyRules }: Watched,
): { readonly alarms: Readonly<Record<string, AlarmRow | undefined>>; readonly graphs: readonly (readonly Graph[])[] } {
  const own = (metricName: ServiceMetric, statistic: Statistic = 'Sum', over = period) => {
    const dimensionsMap = { service: metricService, [deploymentDimension]: Stack.of(scope).stackName };
    return new Metric({ namespace: metricNamespace, metricName, dimensionsMap, statistic, period: over });
  };
  /** By each value of the breakdown that has occurred. For dashboards: an alarm takes no search. */
  const parts = (metricName: BrokenDownMetric) => {
    const schema = [metricNamespace, 'service', deploymentDimension, breakdowns[metricName].dimension].join(',');
    const wanted = `{${schema}} MetricName="${metricName}" ${deploymentDimension}="${Stack.of(scope).stackName}"`;
    return new MathExpression({ expression: `SEARCH('${wanted}', 'Sum')`, usingMetrics: {}, label: '', period });
  };
  const ofAws = (
    namespace: 'RDS' | 'S3' | 'Events',
    metricName: string,
    dimensionsMap: Record<string, string>,
    statistic: Statistic,
    over = period,
  ) => new Metric({ namespace: `AWS/${namespace}`, metricName, dimensionsMap, statistic, period: over });
  const { clusterIdentifier, maxConnections } = storage.catalogue;
  const ofCluster = (metricName: string, statistic: Statistic = 'Maximum') =>
    ofAws('RDS', metricName, { DBClusterIdentifier: clusterIdentifier }, statistic);
  const ofOutbox = (metricName: string, StorageType: string) =>
    ofAws('S3', metricName, { BucketName: storage.outbox.bucketName, StorageType }, 'Average', day);
  const most = { period, statistic: 'Maximum' };
  const waiting = (queue: IQueue, label?: string) =>
    queue.metricApproximateNumberOfMessagesVisible({ ...most, ...(label && { label }) });
  const sum = { period, statistic: 'Sum' };

  /** An alarm on the errors of at most ten functions, and one on their throttles. */
  const ofFunctions = (name: string, group: readonly ServiceFunction[]): Readonly<Record<string, AlarmRow>> => {
    const all = (metric: 'metricErrors' | 'metricThrottles') =>
      total(
        group.map((each) => each.function[metric](sum)),
        name,
      );
    const refused = "Invocations were refused because the account's or a function's concurrency is used up.";
    return {
      [`${name}Errors`]: [all('metricErrors'), 'A function ended with an error or at its time limit.'],
      [`${name}Throttles`]: [all('metricThrottles'), refused, { periods: 3 }],
    };
  };
  const { DeploymentFunctionsErrors } = ofFunctions('DeploymentFunctions', Object.values(functions.deployment));

  const ofQueues = Object.entries(queues).flatMap(([name, { node, queue, deadLetters }]): [string, AlarmRow][] => {
    const limit = longestWait[name as keyof WorkQueues];
    // Each dead letter is either visible, or being tried again.
    const held = deadLetters.metricApproximateNumberOfMessagesNotVisible(most);
    const dead = 'The dead-letter queue has had messages for an hour, which the service cannot record.';
    const late = `The oldest message has waited for more than ${limit.toHumanString()}.`;
    return [
      [`${node.id}DeadLetters`, [total([waiting(deadLetters), held], 'dead letters'), dead, { periods: 12 }]],
      [
        `${node.id}Age`,
        [queue.metricApproximateAgeOfOldestMessage(most), late, { threshold: limit.toSeconds(), periods: 3 }],
      ],
    ];
  });

  const ofApis = Object.entries(apis).flatMap(([name, target]): [string, AlarmRow][] => {
    const { deploymentStage: stage } = target.api;
    const over = Duration.minutes(15);
    // API Gateway counts 429 among all 4xx. Scanners ask any public address for what it does not have: unknown paths do not count.
    const refused = target
      .countReplies(
        'ClientErrors',
        '{ $.status = "4*" && $.status != "429" && $.gatewayResponse != "MISSING_AUTHENTICATION_TOKEN" }',
      )
      .metric({ statistic: 'Sum', period: over });
    const throttled = target.countReplies('Throttled', '{ $.status = "429" }').metric(sum);
    const asked = stage.metricCount({ statistic: 'Sum', period: over });
    const latencies = target.promptMethods.map((method) => method.metricLatency(stage, { statistic: 'p95', period }));
    const slowest = combined(latencies, (all) => `MAX([${all.join(', ')}])`, name);
    const many = 'Three quarters or more of at least 100 requests within 15 minutes were refused with a 4xx.';
    const fast = 'A hundred requests or more were refused with 429 in each of three periods of 5 minutes.';
    const slow = 'The slowest 5 % of the replies of a route took 5 seconds or more for a quarter of an hour.';
    const errors = stage.metricServerError(sum);
    return [
      [`${name}ServerErrors`, [errors, 'Requests were answered with a status of 500 or more.', { threshold: 5 }]],
      // Guessed credentials, or a client that repeats a mistake. Half is normal: some clients send credentials only when asked.
      [`${name}ClientErrors`, [percentage(refused, asked, { least: 100, over }), many, { threshold: 75 }]],
      // For longer than a burst lasts.
      [`${name}Throttled`, [throttled, fast, { threshold: 100, periods: 3 }]],
      // A cold start takes about a second, and a database that wakes up is answered for after 8 seconds: neither lasts.
      [`${name}Latency`, [slowest, slow, { threshold: 5000, periods: 3 }]],
    ];
  });

  const accepted = own(metrics.exportAccepted, 'Sum', hour);
  const rejected = own(metrics.exportRejected, 'Sum', hour);
  const decided = new MathExpression({
    expression: 'FILL(accepted, 0) + FILL(refused, 0)',
    usingMetrics: { accepted, refused: rejected },
    period: hour,
  });
  const alarms: Readonly<Record<string, AlarmRow | undefined>> = {
    ...Object.fromEntries(ofQueues),
    ...ofFunctions('RequestFunctions', functions.answeringRequests),
    ...(functions.direct && ofFunctions('DirectFunctions', functions.servingDirectly)),
    ...ofFunctions('WorkerFunctions', functions.workingInTheBackground),
    DeploymentFunctionsErrors,
    ...Object.fromEntries(ofApis),
    // A cluster that is not serverless has no such metric, and no alarm.
    DatabaseCapacity: [
      ofCluster('ACUUtilization', 'Average'),
      'The database has used 90 % or more of its highest capacity for half an hour.',
      { threshold: 90, periods: 6 },
    ],
    // Nobody knows how many connections an existing cluster takes.
    ...(maxConnections !== undefined && {
      DatabaseConnections: [
        ofCluster('DatabaseConnections'),
        'Two thirds or more of the connections that the database takes are open.',
        { threshold: Math.floor((2 * maxConnections) / 3), periods: 3 },
      ] as const,
    }),
    // A single rejection is between an administrator and a recipient. A band by anomaly detection would need weeks of exports.
    ExportsRejected: [
      percentage(rejected, decided, { least: 10, over: hour }),
      'Half or more of at least ten export requests within an hour were rejected.',
      { threshold: 50 },
    ],
    FilesGivenUp: [own(metrics.fileGivenUp), 'Files of accepted requests were given up.'],
    DeliveryOverdue: [
      own(metrics.deliveryOverdue, 'Sum', day),
      'The daily sweep found requests without a receipt although all their files had ended.',
    ],
    ArchiveDamaged: [
      own(metrics.archiveDamaged),
      'A body is missing or has the wrong size, or no archive key opens a header.',
    ],
    WithdrawnInOutbox: withdrawInterval && [
      // Every period has a run, so that the alarm does not end between two of them.
      own(metrics.withdrawnInOutbox, 'Maximum', Duration.minutes(2 * withdrawInterval.toMinutes())),
      'The outbox has containers of a dataset that is deprecated.',
    ],
    KeyDeletionUndelivered: [
      total(
        keyRules.map(({ ruleName }) => ofAws('Events', 'FailedInvocations', { RuleName: ruleName }, 'Sum')),
        'KeyDeletion',
      ),
      'A message about a KMS key could not be published.',
      // The newest point is a filled one as long as the metric is late.
      { periods: 3, points: 1 },
    ],
  };

  const counted = (...names: (keyof typeof metrics)[]) => names.map((name) => own(metrics[name]));
  const each = (metricName: string, statistic: Statistic) =>
    functions.all.map((target) => target.function.metric(metricName, { statistic, period, label: target.node.id }));
  const ofLines = (metricOf: (line: WorkQueue, label: string) => Metric) =>
    Object.values(queues).map((line) => metricOf(line, line.node.id));
  const graphs: readonly (readonly Graph[])[] = [
    [
      ['Export requests', counted('exportRequested', 'exportAccepted', 'exportRejected')],
      ['Rejected, by reason', [parts(metrics.exportRejected)]],
      ['Settled, by state', [parts(metrics.deliverySettled)]],
      [
        'Seconds from request to staged, and to settled',
        [metrics.secondsToStaged, metrics.secondsToSettled].flatMap((name) =>
          (['p50', 'p95'] as const).map((statistic) => own(name, statistic).with({ label: `${name} ${statistic}` })),
        ),
      ],
    ],
    [
      ['Files', counted('fileStaged', 'fileRejected', 'fileGivenUp', 'fileWithdrawn'), counted('bytesStaged')],
      ['Files rejected or given up, by reason', [parts(metrics.fileRejected), parts(metrics.fileGivenUp)]],
      ['Failed attempts, by stage', [parts(metrics.messageFailed)]],
      [
        'Worth a look',
        [...counted('archiveDamaged', 'eventLost', 'deliveryOverdue'), own(metrics.withdrawnInOutbox, 'Maximum')],
      ],
    ],
    [
      [
        'Oldest message, seconds',
        ofLines(({ queue }, label) => queue.metricApproximateAgeOfOldestMessage({ ...most, label })),
      ],
      ['Messages that wait', ofLines(({ queue }, label) => waiting(queue, label))],
      ['Dead letters', ofLines(({ deadLetters }, label) => waiting(deadLetters, label))],
    ],
    ...Object.entries(apis).map(([name, target]): readonly Graph[] => {
      const { deploymentStage: stage } = target.api;
      return [
        [`${name}: requests`, [stage.metricCount(sum)]],
        [`${name}: 4xx, 5xx`, [stage.metricClientError(sum), stage.metricServerError(sum), ...target.counted(period)]],
        [
          `${name}: milliseconds`,
          ['p50', 'p95'].map((statistic) => stage.metricLatency({ statistic, period, label: statistic })),
        ],
      ];
    }),
    [
      ['Database: capacity', [ofCluster('ServerlessDatabaseCapacity')], [ofCluster('ACUUtilization')]],
      ['Database: connections', [ofCluster('DatabaseConnections')]],
      ['Outbox', [ofOutbox('BucketSizeBytes', 'StandardStorage')], [ofOutbox('NumberOfObjects', 'AllStorageTypes')]],
    ],
    [
      ['Functions: errors', each('Errors', 'Sum')],
      ['Functions: at once', each('ConcurrentExecutions', 'Maximum')],
      ['Functions: throttled', each('Throttles', 'Sum')],
    ],
  ];
  return { alarms, graphs };
}

/** One value of several metrics. Without FILL, a metric without values would leave the others without one. */
function combined(all: readonly IMetric[], join: (filled: readonly string[]) => string, label: string): MathExpression {
  const expression = join(all.map((_, index) => `FILL(m${index}, 0)`));
  const usingMetrics = Object.fromEntries(all.map((metric, index) => [`m${index}`, metric]));
  return new MathExpression({ expression, usingMetrics, period, label });
}

function total(all: readonly IMetric[], label: string): MathExpression {
  return combined(all, (filled) => filled.join(' + '), label);
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
