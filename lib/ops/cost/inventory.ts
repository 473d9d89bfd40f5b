/** A synthesized CloudFormation template, as far as its cost needs it. */
interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
}
interface Resource {
  readonly Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: CloudFormation has no types; each use says what it expects.
  readonly Properties?: any;
}

/** Hours of a month, as AWS counts them: 8,760 of a year, by twelve. */
export const hoursAMonth = 730;

/** What the templates of a deployment hold that has a price, or decides how often something is called. */
export interface Inventory {
  readonly keys: number;
  readonly secrets: number;
  /** An alarm on a sum of metrics is paid for each of them. */
  readonly alarmMetrics: number;
  readonly dashboards: number;
  readonly webAcls: number;
  readonly webAclRules: number;
  /** New clusters; 0 when the operator named an existing one. */
  readonly clusters: number;
  /** Least capacity of all their instances, in ACU. */
  readonly leastCapacity: number;
  /** Queues that Lambda polls. */
  readonly polledQueues: number;
  readonly schedules: readonly { readonly runsAMonth: number; readonly memoryGib: number }[];
  /** Memory of a function in GiB, by its construct's name. @throws Error for one that is not there */
  readonly memoryGib: (name: string) => number;
  /** Days after which a container leaves the outbox. */
  readonly outboxDays: number;
  /** Whether functions send traces. */
  readonly isTraced: boolean;
  /** Whether CloudTrail records reads and writes of objects. */
  readonly recordsObjects: boolean;
}

/** Read the inventory of both stacks. @throws Error when a template has another shape than this project's */
export function inventoryOf(templates: readonly object[]): Inventory {
  const resources = new Map((templates as readonly Template[]).flatMap(({ Resources }) => Object.entries(Resources)));
  const all = (type: string) => [...resources.values()].filter(({ Type }) => Type === type);
  const clusters = all('AWS::RDS::DBCluster');
  const instances = all('AWS::RDS::DBInstance').length;
  const functions = [...resources].filter(([, { Type }]) => Type === 'AWS::Lambda::Function');
  const memoryOf = ({ Properties }: Resource) => Properties.MemorySize / 1024;
  return {
    keys: all('AWS::KMS::Key').length,
    // RDS makes the secret of the owner by itself.
    secrets:
      all('AWS::SecretsManager::Secret').length +
      clusters.filter(({ Properties }) => Properties.ManageMasterUserPassword).length,
    alarmMetrics: all('AWS::CloudWatch::Alarm').reduce((sum, alarm) => sum + metricsOf(alarm), 0),
    dashboards: all('AWS::CloudWatch::Dashboard').length,
    webAcls: all('AWS::WAFv2::WebACL').length,
    webAclRules: all('AWS::WAFv2::WebACL').reduce((sum, { Properties }) => sum + Properties.Rules.length, 0),
    clusters: clusters.length,
    leastCapacity: clusters.reduce(
      (sum, { Properties }) => sum + Properties.ServerlessV2ScalingConfiguration.MinCapacity * instances,
      0,
    ),
    polledQueues: all('AWS::Lambda::EventSourceMapping').length,
    schedules: all('AWS::Events::Rule')
      .filter(({ Properties }) => Properties.ScheduleExpression)
      .map(({ Properties }) => {
        const target = resources.get(Properties.Targets[0].Arn['Fn::GetAtt'][0]);
        if (!target) throw new Error('a schedule runs nothing of these templates');
        return { runsAMonth: runsAMonth(Properties.ScheduleExpression), memoryGib: memoryOf(target) };
      }),
    memoryGib: (name) => {
      const found = functions.find(([id]) => id.startsWith(`Functions${name}Function`));
      if (!found) throw new Error(`the templates have no function ${name}`);
      return memoryOf(found[1]);
    },
    outboxDays: outboxDays(all('AWS::S3::Bucket')),
    isTraced: functions.some(([, { Properties }]) => Properties.TracingConfig?.Mode === 'Active'),
    recordsObjects: all('AWS::CloudTrail::Trail').length > 0,
  };
}

function metricsOf({ Properties: { Metrics } }: Resource): number {
  return Metrics ? Metrics.filter((metric: { MetricStat?: unknown }) => metric.MetricStat).length : 1;
}

/** `rate(5 minutes)`. @throws Error for another expression */
function runsAMonth(expression: string): number {
  const [, count, unit = ''] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
  const hours = { minute: 1 / 60, hour: 1, day: 24 }[unit];
  if (!count || !hours) throw new Error(`the schedule ${expression} is not understood`);
  return hoursAMonth / (Number(count) * hours);
}

/** Of the one bucket whose objects of any name expire beside a part `direct/`. */
function outboxDays(buckets: readonly Resource[]): number {
  for (const { Properties } of buckets) {
    const rules: readonly { Id: string; ExpirationInDays?: number }[] = Properties.LifecycleConfiguration?.Rules ?? [];
    const days = rules.find(({ Id }) => Id === 'expiry')?.ExpirationInDays;
    if (days && rules.some(({ Id }) => Id === 'direct')) return days;
  }
  throw new Error('the templates have no outbox');
}
