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
export type Inventory = Readonly<ReturnType<typeof inventoryOf>>;

/** Read the inventory of both stacks. @throws Error when a template has another shape than this project's */
export function inventoryOf(templates: readonly object[]) {
  const resources = new Map((templates as readonly Template[]).flatMap(({ Resources }) => Object.entries(Resources)));
  const all = (type: string) => [...resources.values()].filter(({ Type }) => Type === type);
  const count = (type: string) => all(type).length;
  const clusters = all('AWS::RDS::DBCluster');
  const functions = [...resources].filter(([, { Type }]) => Type === 'AWS::Lambda::Function');
  const memoryOf = ({ Properties }: Resource): number => Properties.MemorySize / 1024;
  return {
    keys: count('AWS::KMS::Key'),
    // RDS makes the secret of the owner automatically.
    secrets:
      count('AWS::SecretsManager::Secret') +
      clusters.filter(({ Properties }) => Properties.ManageMasterUserPassword).length,
    /** An alarm on a sum of metrics is paid for each of them. */
    alarmMetrics: sum(all('AWS::CloudWatch::Alarm'), metricsOf),
    dashboards: count('AWS::CloudWatch::Dashboard'),
    webAcls: count('AWS::WAFv2::WebACL'),
    webAclRules: sum(all('AWS::WAFv2::WebACL'), ({ Properties }) => Properties.Rules.length),
    /** New clusters; 0 when the operator named an existing one. */
    clusters: clusters.length,
    /** Least capacity of all their instances, in ACU. */
    leastCapacity:
      sum(clusters, ({ Properties }) => Properties.ServerlessV2ScalingConfiguration.MinCapacity) *
      count('AWS::RDS::DBInstance'),
    /** Queues that Lambda polls. */
    polledQueues: count('AWS::Lambda::EventSourceMapping'),
    schedules: all('AWS::Events::Rule')
      .filter(({ Properties }) => Properties.ScheduleExpression)
      .map(({ Properties }) => {
        const target = resources.get(Properties.Targets[0].Arn['Fn::GetAtt'][0]);
        if (!target) throw new Error('a schedule runs nothing of these templates');
        return { runsAMonth: runsAMonth(Properties.ScheduleExpression), memoryGib: memoryOf(target) };
      }),
    /** Memory of a function in GiB, by its construct's name. @throws Error for one that is missing */
    memoryGib: (name: string) => {
      const found = functions.find(([id]) => id.startsWith(`Functions${name}Function`));
      if (!found) throw new Error(`the templates have no function ${name}`);
      return memoryOf(found[1]);
    },
    /** Days after which a container leaves the outbox. */
    outboxDays: outboxDays(all('AWS::S3::Bucket')),
    /** Whether functions send traces. */
    isTraced: functions.some(([, { Properties }]) => Properties.TracingConfig?.Mode === 'Active'),
    /** Whether CloudTrail records reads and writes of objects. */
    recordsObjects: count('AWS::CloudTrail::Trail') > 0,
  };
}

function sum(resources: readonly Resource[], value: (resource: Resource) => number): number {
  return resources.reduce((total, resource) => total + value(resource), 0);
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
