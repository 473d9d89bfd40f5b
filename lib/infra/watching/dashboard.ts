import { Duration, Stack } from 'aws-cdk-lib';
import {
  Dashboard as CloudWatchDashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  Metric,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { type BrokenDownMetric, metrics } from '../../contract/metrics.ts';
import type { ServiceApi } from '../apis/service-api.ts';
import type { ServiceFunction } from '../functions/service-function.ts';
import type { WorkQueue } from '../queues/queues.ts';
import { type ServiceMetric, serviceMetric, serviceMetricByValue } from './service-metrics.ts';

export interface DashboardProps {
  readonly queues: readonly WorkQueue[];
  readonly apis: Readonly<Record<string, ServiceApi>>;
  readonly functions: readonly ServiceFunction[];
  /** Name of the cluster in CloudWatch. */
  readonly clusterIdentifier: string;
  readonly outboxBucket: string;
}

const period = Duration.minutes(5);
/** S3 counts its bytes once a day. */
const day = Duration.days(1);

/** An export's day, from the request to the outbox, on one page. */
export class Dashboard extends Construct {
  /** Address in the console. */
  readonly url: string;

  constructor(scope: Construct, id: string, props: DashboardProps) {
    super(scope, id);
    const { stackName, region } = Stack.of(this);
    new CloudWatchDashboard(this, 'Dashboard', {
      dashboardName: stackName,
      defaultInterval: Duration.days(1),
      widgets: [
        [new TextWidget({ width: 24, height: 2, markdown: titleOf(stackName) })],
        this.#exports(),
        this.#files(),
        queues(props),
        ...Object.entries(props.apis).map(([name, api]) => apiWidgets(name, api)),
        database(props),
        functions(props),
      ],
    });
    this.url = `https://${region}.console.aws.amazon.com/cloudwatch/home?region=${region}#dashboards/dashboard/${stackName}`;
  }

  #exports(): IWidget[] {
    return [
      graph('Export requests', this.#sums(metrics.exportRequested, metrics.exportAccepted, metrics.exportRejected)),
      graph('Rejected, by reason', this.#parts(metrics.exportRejected)),
      graph('Settled, by state', this.#parts(metrics.deliverySettled)),
      graph(
        'Seconds from request to staged, and to settled',
        [metrics.secondsToStaged, metrics.secondsToSettled].flatMap((name) =>
          (['p50', 'p95'] as const).map((statistic) =>
            serviceMetric(this, name, { statistic, period }).with({ label: `${name} ${statistic}` }),
          ),
        ),
      ),
    ];
  }

  #files(): IWidget[] {
    return [
      graph(
        'Files',
        this.#sums(metrics.fileStaged, metrics.fileRejected, metrics.fileGivenUp, metrics.fileWithdrawn),
        this.#sums(metrics.bytesStaged),
      ),
      graph('Files rejected or given up, by reason', [
        ...this.#parts(metrics.fileRejected),
        ...this.#parts(metrics.fileGivenUp),
      ]),
      graph('Failed attempts, by stage', this.#parts(metrics.messageFailed)),
      graph('Worth a look', [
        ...this.#sums(metrics.archiveDamaged, metrics.eventLost, metrics.deliveryOverdue),
        serviceMetric(this, metrics.withdrawnInOutbox, { statistic: 'Maximum', period }),
      ]),
    ];
  }

  #sums(...names: readonly ServiceMetric[]): IMetric[] {
    return names.map((name) => serviceMetric(this, name, { statistic: 'Sum', period }));
  }

  #parts(name: BrokenDownMetric): IMetric[] {
    return [serviceMetricByValue(this, name, period)];
  }
}

function titleOf(stackName: string): string {
  const more = 'In the repository: `docs/runbook.md` has an article for each alarm, under its name.';
  return `# ${stackName}: an export's day\nFrom the request to the outbox. ${more}`;
}

function queues({ queues }: DashboardProps): IWidget[] {
  const each = (metricOf: (work: WorkQueue) => Metric) =>
    queues.map((work) => metricOf(work).with({ label: work.node.id }));
  const depth = (queue: IQueue) => queue.metricApproximateNumberOfMessagesVisible({ period, statistic: 'Maximum' });
  return [
    graph(
      'Oldest message, seconds',
      each(({ queue }) => queue.metricApproximateAgeOfOldestMessage({ period, statistic: 'Maximum' })),
    ),
    graph(
      'Messages that wait',
      each(({ queue }) => depth(queue)),
    ),
    graph(
      'Dead letters',
      each(({ deadLetters }) => depth(deadLetters)),
    ),
  ];
}

function apiWidgets(name: string, target: ServiceApi): IWidget[] {
  const { deploymentStage: stage } = target.api;
  const sum = { statistic: 'Sum', period };
  return [
    graph(`${name}: requests`, [stage.metricCount(sum)]),
    graph(`${name}: 4xx, 5xx`, [stage.metricClientError(sum), stage.metricServerError(sum), ...target.counted(period)]),
    graph(
      `${name}: milliseconds`,
      ['p50', 'p95'].map((statistic) => stage.metricLatency({ statistic, period, label: statistic })),
    ),
  ];
}

function database({ clusterIdentifier, outboxBucket }: DashboardProps): IWidget[] {
  const ofCluster = (metricName: string) =>
    new Metric({
      namespace: 'AWS/RDS',
      metricName,
      dimensionsMap: { DBClusterIdentifier: clusterIdentifier },
      statistic: 'Maximum',
      period,
    });
  const ofOutbox = (metricName: string, StorageType: string) =>
    new Metric({
      namespace: 'AWS/S3',
      metricName,
      dimensionsMap: { BucketName: outboxBucket, StorageType },
      statistic: 'Average',
      period: day,
    });
  return [
    graph('Database: capacity', [ofCluster('ServerlessDatabaseCapacity')], [ofCluster('ACUUtilization')]),
    graph('Database: connections', [ofCluster('DatabaseConnections')]),
    graph('Outbox', [ofOutbox('BucketSizeBytes', 'StandardStorage')], [ofOutbox('NumberOfObjects', 'AllStorageTypes')]),
  ];
}

function functions({ functions }: DashboardProps): IWidget[] {
  const each = (metricName: string, statistic: string) =>
    functions.map((target) => target.function.metric(metricName, { statistic, period, label: target.node.id }));
  return [
    graph('Functions: errors', each('Errors', 'Sum')),
    graph('Functions: at once', each('ConcurrentExecutions', 'Maximum')),
    graph('Functions: throttled', each('Throttles', 'Sum')),
  ];
}

function graph(title: string, left: IMetric[], right: IMetric[] = []): GraphWidget {
  return new GraphWidget({ title, left, right, width: 6, height: 6 });
}
