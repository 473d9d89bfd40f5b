import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { assembly } from '../helpers/assembly.ts';
import { existing } from '../helpers/settings.ts';
import { templatesOf } from '../helpers/synthesized.ts';
import { show, stackTemplate } from '../helpers/template.ts';

// biome-ignore lint/suspicious/noExplicitAny: CloudFormation has no types, and a wrong path fails the assertion.
type Properties = any;

const root = join(import.meta.dirname, '../..');
let service: Awaited<ReturnType<typeof stackTemplate>>;
beforeAll(async () => {
  service = await stackTemplate('DataOutService');
});

/** Functions that work on queues, or on a schedule. */
const workers = ['ConsumeExport', 'StageFile', 'SettleDelivery', 'RecordDeadLetters', 'SweepDeliveries', 'Withdraw'];

const functions: readonly (readonly [string, seconds: number])[] = [
  ['AuthorizeAdmin', 10],
  ['Export', 29],
  ['ExportStatus', 29],
  ['AdminPage', 10],
  ['Files', 300],
  ['Stream', 29],
  ['ServiceInfo', 10],
  ['ConsumeExport', 900],
  ['StageFile', 900],
  ['SettleDelivery', 900],
  ['RecordDeadLetters', 300],
  ['SweepDeliveries', 900],
  ['Withdraw', 900],
  ['Migrate', 720],
  ['Protect', 360],
];

describe('functions', () => {
  test.each(functions)('%s runs on Node 24, ARM64, for at most %i s, with JSON logs at INFO', (name, seconds) => {
    expect(service.at(`Functions/${name}/Function`).Properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      Timeout: seconds,
      TracingConfig: { Mode: 'Active' },
      LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'INFO', SystemLogLevel: 'INFO' },
    });
    expect(service.at(`Functions/${name}/Logs`).Properties.RetentionInDays).toBe(90);
  });

  test('that copies large files sends its own messages again, and no other function may', () => {
    const looping = service
      .all('AWS::Lambda::Function')
      .filter(({ Properties }) => Properties.RecursiveLoop !== undefined)
      .map(({ Metadata, Properties }) => [Metadata?.['aws:cdk:path'], Properties.RecursiveLoop]);
    expect(looping).toEqual([['DataOutService/Functions/StageFile/Function/Resource', 'Allow']]);
  });

  test('get the settings of the operator', () => {
    const variables = (name: string) => service.at(`Functions/${name}/Function`).Properties.Environment.Variables;
    for (const name of ['Export', 'ExportStatus', 'AdminPage'])
      expect(variables(name)).toMatchObject({ ARCHIVE_KIND: 'fega' });
    expect(variables('AuthorizeOutbox')).toMatchObject({ ARCHIVE_CREDENTIALS: 'required' });
    expect(variables('Files')).toMatchObject({ OUTBOX_EXPIRY_DAYS: '30' });
    expect(variables('Stream')).toMatchObject({ URL_LIFETIME_SECONDS: '900' });
    expect(variables('Withdraw')).toMatchObject({ WITHDRAWAL: 'report', OUTBOX_EXPIRY_DAYS: '30' });
    expect(variables('ConsumeExport')).toMatchObject({ RETRY_DELAYS_SECONDS: '10,60,300,900', DATABASE_NAME: 'sda' });
    expect(show(variables('StageFile').FILE_EXPORTS_QUEUE_URL)).toBe('FileExportsQueue');
    expect(show(variables('StageFile').SMALL_FILE_EXPORTS_QUEUE_URL)).toBe('SmallFileExportsQueue');
    // One large file an invocation, and ten small ones: ten invocations of each.
    expect(variables('StageFile').FILES_IN_FLIGHT).toBe('110');
    expect(show(variables('StageFile').ARCHIVE_BUCKETS)).toBe('ArchiveBucket');
    expect(show(variables('StageFile').OUTBOX_BUCKET)).toBe('OutboxBucket');
  });

  test('know the database by their own role, which the migration makes', () => {
    const variables = (name: string) => service.at(`Functions/${name}/Function`).Properties.Environment.Variables;
    expect(show(variables('AuthorizeOutbox').DATABASE_SECRET_ARN)).toBe('CatalogueProxySecret');
    expect(show(variables('ExportStatus').DATABASE_SECRET_ARN)).toBe('CatalogueAuditorSecret');
    for (const name of ['Files', 'Stream']) {
      expect(Object.keys(variables(name)).filter((variable) => variable.startsWith('DATABASE_'))).toEqual([]);
    }
    for (const name of ['Datasets', 'DirectFile', 'Drs', 'Htsget'])
      expect(show(variables(name).DATABASE_SECRET_ARN)).toBe('CatalogueReaderSecret');
    for (const name of workers) expect(show(variables(name).DATABASE_SECRET_ARN)).toBe('CatalogueWorkerSecret');
    const owning = service
      .all('AWS::Lambda::Function')
      .filter(({ Properties }) => Properties.Environment?.Variables?.DATABASE_SECRET_ARN)
      .filter(({ Properties }) => show(Properties.Environment.Variables.DATABASE_SECRET_ARN) === 'CatalogueCluster');
    expect(owning.map(({ Metadata }) => Metadata?.['aws:cdk:path'])).toEqual([
      'DataOutService/Functions/Migrate/Function/Resource',
    ]);
    expect(show(variables('Migrate').DATABASE_PROXY_SECRET_ARN)).toBe('CatalogueProxySecret');
    expect(show(variables('Migrate').DATABASE_AUDITOR_SECRET_ARN)).toBe('CatalogueAuditorSecret');
    expect(show(variables('Migrate').DATABASE_READER_SECRET_ARN)).toBe('CatalogueReaderSecret');
    expect(show(variables('Migrate').DATABASE_WORKER_SECRET_ARN)).toBe('CatalogueWorkerSecret');
  });

  test('name their deployment, so that its metrics are told from those of another one', () => {
    const own = service
      .all('AWS::Lambda::Function')
      .filter(({ Metadata }) => !Metadata?.['aws:cdk:path']?.includes('CustomResourceProvider'));
    expect(own.length).toBeGreaterThan(functions.length);
    for (const { Properties } of own) expect(Properties.Environment.Variables.STACK_NAME).toBe('DataOutService');
  });

  test('that verify or stage get the address of the deny list', () => {
    const verifying = [
      'AuthorizeOutbox',
      'Files',
      'Stream',
      'AuthorizeVisa',
      'Datasets',
      'DirectFile',
      'Drs',
      'Htsget',
    ];
    for (const name of [...verifying, 'ConsumeExport', 'StageFile']) {
      const { Variables } = service.at(`Functions/${name}/Function`).Properties.Environment;
      expect(show(Variables.VISA_DENY_LIST_SECRET_ARN)).toBe('VisaDenyListSecret');
    }
  });

  test('that write file-exports messages are updated after the one that reads them strictly', () => {
    const reader = Object.keys(service.template.Resources).find((id) => /^FunctionsStageFileFunction/.test(id));
    expect(service.at('Functions/ConsumeExport/Function').DependsOn).toContain(reader);
  });

  test('that use the catalogue wait for its migration', () => {
    const migration = Object.keys(service.template.Resources).find((id) => /^Migration/.test(id));
    const direct = ['Datasets', 'DirectFile', 'Drs', 'Htsget'];
    for (const name of ['AuthorizeOutbox', 'ExportStatus', ...workers, ...direct]) {
      expect(service.at(`Functions/${name}/Function`).DependsOn).toContain(migration);
    }
  });
});

test('the migration changes when the settings name the cluster that was made: Lambda publishes no version otherwise', () => {
  const named = templatesOf({ ...settings, database: existing.database }).served;
  const [migrate] = Object.entries(named.findResources('AWS::Lambda::Function'))
    .filter(([id]) => id.startsWith('FunctionsMigrate'))
    .map(([, { Properties }]) => Properties);
  // Its variables say the same, in other words.
  const before = service.at('Functions/Migrate/Function').Properties;
  expect(Object.keys(migrate?.Environment.Variables)).toContain('DATABASE_CLUSTER_ARN');
  expect(before.Description).toBe("Brings the catalogue's tables up to date, in its own cluster");
  expect(migrate?.Description).toBe("Brings the catalogue's tables up to date, in the cluster of the settings");
});

describe('the protection of the storage stack', () => {
  test('is switched on in each deployment that knows another stack or cluster, and again every hour', () => {
    const { Environment } = service.at('Functions/Protect/Function').Properties;
    expect(show(Environment.Variables.STORAGE_STACK_ID)).toBe('AWSStackId');
    expect(show(Environment.Variables.DATABASE_CLUSTER_ARN)).toMatch(/:cluster:CatalogueCluster$/);
    const trigger = service.template.Resources.Protection;
    expect(trigger).toMatchObject({ Type: 'Custom::Trigger', Properties: { InvocationType: 'RequestResponse' } });
    expect(show(trigger?.Properties.HandlerArn)).toBe('FunctionsProtectFunctionCurrentVersion');
    const { ScheduleExpression, State, Targets } = service.at('ProtectionSchedule').Properties;
    expect([ScheduleExpression, State]).toEqual(['rate(1 hour)', 'ENABLED']);
    expect(Targets.map(({ Arn }: { Arn: unknown }) => show(Arn))).toEqual(['FunctionsProtectFunction']);
  });
});

test('what no message will end is swept once a day', () => {
  const { ScheduleExpression, State, Targets } = service.at('SweepSchedule').Properties;
  expect([ScheduleExpression, State]).toEqual(['rate(1 day)', 'ENABLED']);
  expect(Targets.map(({ Arn }: { Arn: unknown }) => show(Arn))).toEqual(['FunctionsSweepDeliveriesFunction']);
});

test.each(['report', 'purge'] as const)(
  'a cluster that may sleep is woken for deprecated datasets twice a day (%s)',
  (withdrawal) => {
    const database = { minCapacity: 0, maxCapacity: 8, backupDays: 14 };
    const { served } = templatesOf({ ...settings, withdrawal, database });
    const rules = Object.values(served.findResources('AWS::Events::Rule')).map(({ Properties }) => Properties);
    const [rule, ...others] = rules.filter(({ Description }) => /deprecated/.test(Description));
    expect([rule?.ScheduleExpression, others]).toEqual(['rate(12 hours)', []]);
    const [alarm] = Object.values(served.findResources('AWS::CloudWatch::Alarm')).filter(
      ({ Properties }) => Properties.MetricName === 'WithdrawnInOutbox',
    );
    // The longest period of an alarm that is evaluated at once.
    expect(alarm?.Properties.Period).toBe(86_400);
  },
);

test('containers of deprecated datasets are looked for every quarter of an hour, and an alarm lasts from run to run', () => {
  const { ScheduleExpression, State, Targets } = service.at('WithdrawSchedule').Properties;
  expect([ScheduleExpression, State]).toEqual(['rate(15 minutes)', 'ENABLED']);
  expect(Targets.map(({ Arn }: { Arn: unknown }) => show(Arn))).toEqual(['FunctionsWithdrawFunction']);
  expect(service.at('Alarms/WithdrawnInOutbox').Properties).toMatchObject({
    Namespace: 'DataOut',
    MetricName: 'WithdrawnInOutbox',
    Period: 1800,
    Statistic: 'Maximum',
    Threshold: 1,
  });
});

describe('queues', () => {
  const mappingOf = (queue: string) => {
    const mappings = service.all('AWS::Lambda::EventSourceMapping').map(({ Properties }) => Properties);
    const found = mappings.filter(({ EventSourceArn }) => show(EventSourceArn) === queue);
    expect(found).toHaveLength(1);
    const [{ FunctionName, BatchSize, FunctionResponseTypes, ScalingConfig }] = found;
    expect(FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
    return [show(FunctionName), BatchSize, ScalingConfig.MaximumConcurrency];
  };

  test.each([
    ['ExportRequests', 'ConsumeExport', 1, 2],
    ['FileExports', 'StageFile', 1, 10],
    ['SmallFileExports', 'StageFile', 10, 10],
    ['Deliveries', 'SettleDelivery', 1, 2],
  ])('%s gives %s its messages (%i at a time), time to finish, and five receives', async (name, worker, ...amounts) => {
    const { Properties } = service.at(`${name}/Queue`);
    // Six times the 15 minutes of its function.
    expect(Properties).toMatchObject({
      VisibilityTimeout: 5400,
      MessageRetentionPeriod: 14 * 24 * 3600,
      MaximumMessageSize: 1_048_576,
    });
    expect(Properties.RedrivePolicy.maxReceiveCount).toBe(5);
    expect(show(Properties.RedrivePolicy.deadLetterTargetArn)).toBe(`${name}DeadLettersQueue`);
    expect(mappingOf(`${name}Queue`)).toEqual([`Functions${worker}Function`, ...amounts]);

    const storage = await stackTemplate('DataOutStorage');
    // The time of RecordDeadLetters is five minutes.
    expect(storage.at(`${name}DeadLetters/Queue`).Properties.VisibilityTimeout).toBe(1800);
    expect(mappingOf(`${name}DeadLettersQueue`)).toEqual(['FunctionsRecordDeadLettersFunction', 10, 2]);
  });

  test('are sealed: the one with visas under the key of its dead letters', () => {
    const { Properties: requests } = service.at('ExportRequests/Queue');
    expect(show(requests.KmsMasterKeyId)).toBe('ExportRequestsKey');
    expect(requests.KmsDataKeyReusePeriodSeconds).toBe(300);
    expect(requests.SqsManagedSseEnabled).toBeUndefined();
    for (const name of ['FileExports', 'SmallFileExports', 'Deliveries']) {
      expect(service.at(`${name}/Queue`).Properties.SqsManagedSseEnabled).toBe(true);
    }
  });

  test('outlive the stack, with their policies', () => {
    const kept = ['AWS::SQS::Queue', 'AWS::SQS::QueuePolicy'].flatMap((type) => service.all(type));
    expect(kept).toHaveLength(8);
    for (const resource of kept) {
      expect(resource).toMatchObject({ DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' });
    }
  });

  test('refuse plain HTTP', async () => {
    const storage = await stackTemplate('DataOutStorage');
    const policies = [...service.all('AWS::SQS::QueuePolicy'), ...storage.all('AWS::SQS::QueuePolicy')];
    expect(policies).toHaveLength(8);
    for (const { Properties } of policies) {
      expect(Properties.PolicyDocument.Statement).toContainEqual(
        expect.objectContaining({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
      );
    }
  });
});

describe('alarms', () => {
  test.each(['ArchiveDamaged', 'FilesGivenUp'])('%s goes off at the first file', (name) => {
    expect(service.at(`Alarms/${name}`).Properties).toMatchObject({
      Namespace: 'DataOut',
      MetricName: { ArchiveDamaged: 'ArchiveDamaged', FilesGivenUp: 'FileGivenUp' }[name],
      Statistic: 'Sum',
      Period: 300,
      Threshold: 1,
      EvaluationPeriods: 1,
      ComparisonOperator: 'GreaterThanOrEqualToThreshold',
      TreatMissingData: 'notBreaching',
      Dimensions: [
        { Name: 'deployment', Value: 'DataOutService' },
        { Name: 'service', Value: 'data-out' },
      ],
    });
  });

  test.each(['ExportRequests', 'FileExports', 'SmallFileExports', 'Deliveries'])(
    '%sDeadLetters goes off when one stays for an hour, whether it waits or is being tried',
    (name) => {
      const { Metrics, ...alarm } = service.at(`Alarms/${name}DeadLetters`).Properties;
      expect(alarm).toMatchObject({
        Threshold: 1,
        EvaluationPeriods: 12,
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        TreatMissingData: 'notBreaching',
      });
      expect(alarm).not.toHaveProperty('DatapointsToAlarm');
      const counted = Metrics.map(({ Expression, MetricStat }: { Expression?: string; MetricStat?: Properties }) =>
        MetricStat
          ? [
              MetricStat.Metric.MetricName,
              show(MetricStat.Metric.Dimensions[0].Value),
              MetricStat.Period,
              MetricStat.Stat,
            ]
          : Expression,
      );
      expect(counted).toEqual([
        'FILL(m0, 0) + FILL(m1, 0)',
        ['ApproximateNumberOfMessagesVisible', `${name}DeadLettersQueue`, 300, 'Maximum'],
        ['ApproximateNumberOfMessagesNotVisible', `${name}DeadLettersQueue`, 300, 'Maximum'],
      ]);
    },
  );

  test('on replies watch one stage of one API', () => {
    for (const name of ['Proxy', 'DataOut']) {
      expect(service.at(`Alarms/${name}ServerErrors`).Properties).toMatchObject({
        Namespace: 'AWS/ApiGateway',
        MetricName: '5XXError',
        Dimensions: [
          { Name: 'ApiName', Value: `DataOutService-${name}` },
          { Name: 'Stage', Value: { Ref: expect.stringMatching(/^.+ApiDeploymentStagev1/) } },
        ],
      });
    }
  });

  test('tell a topic that they went off and that they are over, and may publish to it', () => {
    const { id } = service.at('Alarms/Topic');
    for (const { Properties } of service.all('AWS::CloudWatch::Alarm')) {
      expect(Properties).toMatchObject({ AlarmActions: [{ Ref: id }], OKActions: [{ Ref: id }] });
    }
    const [policy, ...others] = service.all('AWS::SNS::TopicPolicy');
    expect(others).toEqual([]);
    // This policy replaces the default one of AWS, which lets CloudWatch publish.
    expect(policy?.Properties.PolicyDocument.Statement).toEqual([
      expect.objectContaining({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
      expect.objectContaining({
        Effect: 'Allow',
        Principal: { Service: 'cloudwatch.amazonaws.com' },
        Action: 'sns:Publish',
        Resource: { Ref: id },
        Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
      }),
      expect.objectContaining({ Effect: 'Allow', Principal: { Service: 'events.amazonaws.com' } }),
    ]);
    expect(service.template.Outputs.AlarmTopicArn?.Value).toEqual({ Ref: id });
    // No e-mail is sent unless the operator sets an address.
    expect(service.all('AWS::SNS::Subscription')).toEqual([]);
  });
});

test('the security rules and the validation of the template find nothing', async () => {
  const report = JSON.parse(readFileSync(join(await assembly(), 'validation-report.json'), 'utf8'));
  const findings = report.pluginReports.flatMap(({ violations }: { violations: { ruleName: string }[] }) =>
    violations.map(({ ruleName }) => ruleName),
  );
  // An operator who trusts no issuer is warned that every visa will be refused.
  const issuers = JSON.parse(readFileSync(join(root, 'config/trusted-issuers.json'), 'utf8'));
  const trustsNone = Array.isArray(issuers) && issuers.length === 0;
  expect(findings).toEqual(trustsNone ? ['Annotation::data-out:nobody-is-trusted'] : []);
});
