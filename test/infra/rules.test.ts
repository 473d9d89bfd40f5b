import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import type { Settings } from '../../lib/infra/settings.ts';
import { addStacks } from '../../lib/infra/stacks.ts';
import { templateApp } from '../../lib/infra/templates.ts';
import { assembly } from '../helpers/assembly.ts';
import { account, existing } from '../helpers/settings.ts';
import { templatesOf } from '../helpers/synthesized.ts';
import { show } from '../helpers/template.ts';
import { variants } from '../helpers/variants.ts';

/** What must be true of the templates whatever the settings are. `snapshots/` has what they are. */

// biome-ignore lint/suspicious/noExplicitAny: CloudFormation has no types, and a wrong path fails the assertion.
type Any = any;

function stacksOf(change: Partial<Settings>) {
  const given = { ...settings, ...change };
  const [storage, service] = Object.values(templatesOf(given)).map((template) => template.toJSON() as Any);
  const resources: Readonly<Record<string, Any>> = { ...storage.Resources, ...service.Resources };
  const ids = (type: string) => Object.keys(resources).filter((id) => resources[id].Type === `AWS::${type}`);
  const all = (type: string): readonly Any[] => ids(type).map((id) => resources[id].Properties);
  const statements = (type: string, property = 'PolicyDocument'): readonly Any[] =>
    all(type).flatMap((each) => each[property]?.Statement ?? []);
  return { given, storage, service, resources, ids, all, statements };
}

/** Every number of days that differs from the default. */
const otherDays: Partial<Settings> = {
  outboxExpiryDays: 7,
  logRetentionDays: 60,
  bucketLogRetentionDays: 400,
  database: { minCapacity: 0.5, maxCapacity: 8, backupDays: 3 },
  // With it, the CDK's own function also has a log group.
  logKeys: 'customer',
};
const every = Object.entries({ ...variants, 'other-days': otherDays }).map(
  ([name, change]) => [name, stacksOf(change)] as const,
);
const defaults = stacksOf({});
const functionName = (id: string) => /Functions([A-Za-z]+?)(Function|Role)/.exec(id)?.[1];
const list = (value: Any): readonly Any[] => [value].flat();
const named = (id: string) => show({ Ref: id });
/** A value as text, which is the same when the settings name an account and a region. */
const anywhere = (value: Any) =>
  show(value)
    .replace(/^arn:aws:/, 'arn:AWS::Partition:')
    .replace(account, 'AWS::AccountId')
    .replace('eu-north-1', 'AWS::Region');

/** A statement as one line for each action of each principal or resource, with the names of what else it has. */
function sentences({ Effect, Action, Principal = {}, Resource = [], ...others }: Any): string[] {
  const ends = [...Object.values(Principal), ...list(Resource)].map(anywhere);
  return list(Action).flatMap((action) => ends.map((end) => [Effect, action, end, ...Object.keys(others)].join(' ')));
}

/** The roles that serve no function: who may assume each, its grants, and its policies of AWS. */
const otherRoles: Readonly<Record<string, readonly string[]>> = {
  Operators: [
    'Allow sts:AssumeRole arn:AWS::Partition:iam::AWS::AccountId:root',
    'Allow sqs:SendMessage DeliveriesQueue',
    'Allow sqs:SendMessage FileExportsQueue',
    'Allow sqs:SendMessage SmallFileExportsQueue',
  ],
  AWSCDKTriggerCustomResourceProvider: [
    'Allow sts:AssumeRole lambda.amazonaws.com',
    'Allow lambda:InvokeFunction FunctionsMigrateFunction:*',
    'Allow lambda:InvokeFunction FunctionsProtectFunction:*',
    'service-role/AWSLambdaBasicExecutionRole',
  ],
  ApiGatewayLogs: [
    'Allow sts:AssumeRole apigateway.amazonaws.com',
    'service-role/AmazonAPIGatewayPushToCloudWatchLogs',
  ],
};

/** The roles that may send to each work queue. */
const senders: Readonly<Record<string, readonly string[]>> = {
  ExportRequests: ['Export'],
  FileExports: ['ConsumeExport', 'Operators', 'StageFile', 'SweepDeliveries'],
  SmallFileExports: ['ConsumeExport', 'Operators', 'SweepDeliveries'],
  Deliveries: ['Operators', 'RecordDeadLetters', 'StageFile', 'SweepDeliveries', 'Withdraw'],
};

/** What the access logs may have of a request: nothing that a caller words. */
const logged = [
  '$context.authorizer.principalId',
  '$context.error.responseType',
  '$context.extendedRequestId',
  '$context.httpMethod',
  '$context.identity.sourceIp',
  '$context.integration.responseTransferMode',
  '$context.integration.timeToAllHeaders',
  '$context.integration.timeToFirstContent',
  '$context.integrationLatency',
  '$context.requestId',
  '$context.requestTimeEpoch',
  '$context.resourcePath',
  '$context.responseLatency',
  '$context.responseLength',
  '$context.status',
];

describe.each(every)('grants (%s)', (_, { given, service, resources, ids, all, statements }) => {
  const functions = ids('Lambda::Function').filter((id) => functionName(id));
  const roles = functions.map((id) => resources[id].Properties.Role['Fn::GetAtt'][0]);
  const policiesOf = (role: string) =>
    all('IAM::Policy').filter(({ Roles }) => Roles.some(({ Ref }: Any) => Ref === role));

  test('of a function are in one policy of one role, which no other function has', () => {
    expect(functions.length).toBeGreaterThan(14);
    expect(new Set(roles).size).toBe(functions.length);
    for (const role of roles) {
      // A path would replace the role, and a policy of another kind would not be in the table of grants.
      const { Properties } = resources[role];
      expect(Object.keys(Properties).sort()).toEqual(['AssumeRolePolicyDocument', 'Description']);
      expect(Properties.AssumeRolePolicyDocument.Statement).toEqual([
        { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } },
      ]);
      expect(policiesOf(role)).toHaveLength(1);
    }
  });

  test('name each action and each resource', () => {
    const granted = statements('IAM::Policy');
    expect(granted.length).toBeGreaterThan(60);
    for (const { Effect, Action, Resource } of granted) {
      expect(Effect).toBe('Allow');
      expect(list(Action).filter((action) => action.includes('*') || action.startsWith('lambda:'))).toEqual([]);
      if (list(Resource).includes('*')) expect(list(Action).every((action) => action.startsWith('xray:'))).toBe(true);
    }
  });

  test('let a key that encrypts be used through one service only', () => {
    const uses = statements('IAM::Policy').filter(({ Action }) =>
      /"kms:(?!Sign|GetPublicKey)/.test(JSON.stringify(Action)),
    );
    expect(uses.length).toBeGreaterThan(10);
    for (const { Condition } of uses) {
      expect(show(Condition.StringEquals['kms:ViaService'])).toMatch(
        /^(s3|secretsmanager|sqs)\.[\w:-]+\.amazonaws\.com$/,
      );
    }
  });

  test('of a resource let in no principal that is a wildcard', () => {
    const policies = ['S3::BucketPolicy', 'SQS::QueuePolicy', 'SNS::TopicPolicy'].flatMap((type) => statements(type));
    const allowed = [...policies, ...statements('KMS::Key', 'KeyPolicy')].filter(({ Effect }) => Effect === 'Allow');
    expect(allowed.length).toBeGreaterThan(8);
    for (const { Principal } of allowed) expect(JSON.stringify(Principal)).not.toContain('*');
  });

  test('of roles that serve no function are these, and have a row in the table', () => {
    const page = readFileSync(join(import.meta.dirname, '../grants/grants.md'), 'utf8');
    const others = ids('IAM::Role').filter((id) => !roles.includes(id));
    const found = others.map((id) => {
      const { AssumeRolePolicyDocument, ManagedPolicyArns = [], Policies = [] } = resources[id].Properties;
      const documents = [...Policies, ...policiesOf(id)].map(({ PolicyDocument }) => PolicyDocument);
      const allowed = [AssumeRolePolicyDocument, ...documents].flatMap(({ Statement }) => Statement).flatMap(sentences);
      const ofAws = ManagedPolicyArns.map((arn: Any) => /:policy\/([^"]+)/.exec(JSON.stringify(arn))?.[1]);
      return [id.replace(/(CustomResourceProvider)?Role[0-9A-F]{8}$/, ''), [...allowed, ...ofAws]] as const;
    });
    const { ApiGatewayLogs: _, ...withoutLogs } = otherRoles;
    expect(Object.fromEntries(found)).toEqual(given.apiGatewayLogRole === 'create' ? otherRoles : withoutLogs);
    expect(found.filter(([name]) => !page.includes(`\n| \`${name}\` | `))).toEqual([]);
    expect(JSON.stringify(service)).not.toContain('"PermissionsBoundary"');
  });
});

describe.each(every)('walls (%s)', (_, { given, service, resources, ids, all, statements }) => {
  test('keep plain HTTP out of each bucket, queue and topic', () => {
    for (const [type, of] of [
      ['S3::Bucket', 'S3::BucketPolicy'],
      ['SQS::Queue', 'SQS::QueuePolicy'],
      ['SNS::Topic', 'SNS::TopicPolicy'],
    ] as const) {
      const denials = statements(of).filter(({ Effect, Condition }) =>
        JSON.stringify([Effect, Condition]).includes('["Deny",{"Bool":{"aws:SecureTransport":"false"}}'),
      );
      expect(denials, type).toHaveLength(ids(type).length);
    }
  });

  test('close each bucket to the public and to old TLS, and log who reads genomes', () => {
    for (const bucket of all('S3::Bucket')) {
      expect(Object.values(bucket.PublicAccessBlockConfiguration)).toEqual([true, true, true, true]);
      expect(bucket.OwnershipControls.Rules).toEqual([{ ObjectOwnership: 'BucketOwnerEnforced' }]);
      const [rule] = bucket.BucketEncryption.ServerSideEncryptionConfiguration;
      const isOfGenomes = rule.ServerSideEncryptionByDefault.SSEAlgorithm === 'aws:kms';
      expect(bucket.LoggingConfiguration !== undefined).toBe(isOfGenomes);
    }
    const tls = statements('S3::BucketPolicy').filter(
      ({ Condition }) => Condition?.NumericLessThan?.['s3:TlsVersion'] === 1.2,
    );
    expect(tls).toHaveLength(ids('S3::Bucket').length);
  });

  test('let messages into a queue from its senders alone', () => {
    const closed = all('SQS::QueuePolicy').map(({ Queues: [queue, ...others], PolicyDocument }) => {
      expect(others).toEqual([]);
      const name = show(queue).replace(/Queue$/, '');
      const known = senders[name]?.filter((role) => role !== 'Withdraw' || given.withdrawal !== 'off');
      const [refusal, ...more] = PolicyDocument.Statement.filter(({ Action }: Any) => Action !== 'sqs:*');
      expect(more).toEqual([]);
      expect(refusal).toEqual({
        ...{ Effect: 'Deny', Principal: { AWS: '*' }, Action: 'sqs:SendMessage' },
        Resource: { 'Fn::GetAtt': [queue.Ref, 'Arn'] },
        Condition: known
          ? { ArnNotEquals: { 'aws:PrincipalArn': expect.anything() } }
          : { Bool: { 'aws:PrincipalIsAWSService': 'false' } },
      });
      const admitted = list(refusal.Condition.ArnNotEquals?.['aws:PrincipalArn'] ?? []).map(show);
      expect(admitted.map((role) => role.replace(/^Functions|Role$/g, '')).sort(), name).toEqual(known ?? []);
      return name;
    });
    expect(closed.sort()).toEqual(
      Object.keys(senders)
        .flatMap((name) => [name, `${name}DeadLetters`])
        .sort(),
    );
  });

  test('seal each queue, those with visas under their own key, and let in the dead letters of one queue', () => {
    const stack = `DataOutService${given.stage ? `-${given.stage}` : ''}`;
    for (const id of ids('SQS::Queue')) {
      const { KmsMasterKeyId, SqsManagedSseEnabled, QueueName, RedriveAllowPolicy } = resources[id].Properties;
      const [, name = '', isEnd] = /^(\w+?)(DeadLetters)?Queue$/.exec(named(id)) ?? [];
      const hasVisas = name === 'ExportRequests';
      expect(KmsMasterKeyId && show(KmsMasterKeyId), id).toBe(hasVisas ? 'ExportRequestsKey' : undefined);
      expect(SqsManagedSseEnabled, id).toBe(hasVisas ? undefined : true);
      expect(QueueName, id).toBe(isEnd ? undefined : `${stack}-${name}`);
      const { redrivePermission, sourceQueueArns = [] } = RedriveAllowPolicy ?? {};
      expect([redrivePermission, ...sourceQueueArns.map(anywhere)], id).toEqual(
        isEnd ? ['byQueue', `arn:AWS::Partition:sqs:AWS::Region:AWS::AccountId:${stack}-${name}`] : [undefined],
      );
    }
  });

  test('keep the functions from changing their passwords', () => {
    const clusters = all('RDS::DBCluster');
    expect(clusters).toHaveLength('clusterArn' in given.database ? 0 : 1);
    for (const { DBClusterParameterGroupName } of clusters) {
      const { Parameters } = resources[DBClusterParameterGroupName.Ref].Properties;
      expect(Parameters['rds.restrict_password_commands']).toBe('1');
    }
  });

  test('leave the network of the database without a way in or out', () => {
    const ways =
      /^AWS::EC2::(InternetGateway|NatGateway|EgressOnlyInternetGateway|VPCEndpoint|Route|SecurityGroupIngress)$/;
    expect(Object.values(resources).filter(({ Type }) => ways.test(Type))).toEqual([]);
    for (const { SecurityGroupIngress, SecurityGroupEgress } of all('EC2::SecurityGroup')) {
      expect(SecurityGroupIngress).toBeUndefined();
      expect(SecurityGroupEgress).toEqual([expect.objectContaining({ CidrIp: '255.255.255.255/32' })]);
    }
    for (const { PubliclyAccessible } of all('RDS::DBInstance')) expect(PubliclyAccessible).toBe(false);
  });

  test('have an authorizer before each route, which is asked every time, except before what strangers may know', () => {
    for (const authorizer of all('ApiGateway::Authorizer')) {
      expect(authorizer).toMatchObject({ Type: 'REQUEST', AuthorizerResultTtlInSeconds: 0 });
    }
    const open = all('ApiGateway::Method').filter(({ AuthorizationType }) => AuthorizationType !== 'CUSTOM');
    const strangers = open.map(
      ({ HttpMethod, ResourceId }) => `${HttpMethod} ${resources[ResourceId.Ref].Properties.PathPart}`,
    );
    // DRS takes passports in the body, which its function verifies.
    const known =
      /^((GET|HEAD) (service-info|openapi\.json|jwks\.json|data-out|info)|OPTIONS .+|POST token|POST \{(object|access)_id\})$/;
    expect(strangers.filter((route) => !known.test(route))).toEqual([]);
  });

  test('take TLS 1.2 or newer alone, at the host names of the settings where they have some', () => {
    const { proxy, dataOut } = given.domains ?? {};
    const names = all('ApiGateway::DomainName').map(({ DomainName }) => DomainName);
    expect(names.sort()).toEqual([proxy, dataOut].flatMap((domain) => domain?.name ?? []).sort());
    for (const api of [...all('ApiGateway::RestApi'), ...all('ApiGateway::DomainName')]) {
      expect(api.SecurityPolicy).toBe('SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09');
      expect(api.EndpointAccessMode).toBe('STRICT');
    }
    const closed = ids('ApiGateway::RestApi').filter((id) => resources[id].Properties.DisableExecuteApiEndpoint);
    expect(closed.map(named).sort()).toEqual([...(dataOut ? ['DataOutApi'] : []), ...(proxy ? ['ProxyApi'] : [])]);
  });

  test('word what API Gateway refuses as a problem document, with literal headers and the request id', () => {
    for (const { ResponseType, StatusCode, ResponseParameters, ResponseTemplates } of all(
      'ApiGateway::GatewayResponse',
    )) {
      const document = JSON.parse(ResponseTemplates['application/json']);
      const words = { title: expect.any(String), detail: expect.any(String), code: expect.any(String) };
      expect(document).toMatchObject({ ...words, type: 'about:blank', requestId: '$context.requestId' });
      // A status of the two defaults would replace the status of every 4xx and 5xx.
      expect(StatusCode).toBe(ResponseType.startsWith('DEFAULT_') ? undefined : String(document.status));
      // API Gateway is documented to take literals here. One that it refuses fails the deployment.
      for (const value of Object.values(ResponseParameters)) expect(value).toMatch(/^'[^']*'$/);
    }
  });

  test('keep out of the logs what a caller words', () => {
    for (const { AccessLogSetting, MethodSettings } of all('ApiGateway::Stage')) {
      const values = Object.values<string>(JSON.parse(AccessLogSetting.Format));
      expect(values.filter((value) => !logged.includes(value))).toEqual([]);
      for (const each of MethodSettings) expect(each).toMatchObject({ LoggingLevel: 'OFF', DataTraceEnabled: false });
    }
  });

  test('hold no stack to the outputs of the other, which can go before it changes', () => {
    expect(JSON.stringify(service)).not.toMatch(/"(Fn::ImportValue|Export)"/);
  });
});

describe.each(every)('retention (%s)', (_, { given, storage, service, resources, ids, all }) => {
  test('of the storage stack, and of the queues with their policies, is for ever, except after a first deployment that fails', () => {
    const kept = [
      ...Object.entries<Any>(storage.Resources),
      ...[...ids('SQS::Queue'), ...ids('SQS::QueuePolicy')].map((id) => [id, resources[id]] as const),
    ];
    expect(kept.length).toBeGreaterThan(30);
    for (const [id, { DeletionPolicy, UpdateReplacePolicy }] of kept) {
      expect([id, DeletionPolicy, UpdateReplacePolicy]).toEqual([id, 'RetainExceptOnCreate', 'Retain']);
    }
    // Absent rather than false, so that no later deployment takes the protection away.
    for (const cluster of all('RDS::DBCluster')) expect(cluster).not.toHaveProperty('DeletionProtection');
  });

  test('of archived bodies has no end, not even for a version, and that of other objects and backups is set', () => {
    const buckets = ids('S3::Bucket').map((id) => {
      const { VersioningConfiguration, LifecycleConfiguration } = resources[id].Properties;
      return [named(id), VersioningConfiguration?.Status ?? 'once', LifecycleConfiguration.Rules] as const;
    });
    const rule = (Id: string, rest: object) => ({ Id, Status: 'Enabled', ...rest });
    const uploads = rule('unfinished-uploads', { AbortIncompleteMultipartUpload: { DaysAfterInitiation: 2 } });
    const expiry = (ExpirationInDays: number) => rule('expiry', { ExpirationInDays });
    const direct = rule('direct', { Prefix: 'direct/', ExpirationInDays: 1 });
    expect(buckets.sort()).toEqual([
      ['AccessLogs', 'once', [expiry(given.bucketLogRetentionDays)]],
      ...(given.archiveBucket ? [] : [['ArchiveBucket', 'Enabled', [uploads]]]),
      ['OutboxBucket', 'once', [expiry(given.outboxExpiryDays), direct, uploads]],
    ]);
    const backups = all('RDS::DBCluster').map(({ BackupRetentionPeriod }) => BackupRetentionPeriod);
    expect(backups).toEqual('backupDays' in given.database ? [given.database.backupDays] : []);
  });

  test('of logs is that of the settings and longer than the stack, under the key of the settings', () => {
    const isOurs = given.logKeys === 'customer';
    const groups = ids('Logs::LogGroup').map((id) => resources[id]);
    expect(groups.length).toBeGreaterThan(15);
    for (const { Properties, DeletionPolicy } of groups) {
      expect(DeletionPolicy).toBe('Retain');
      // A group that was kept would be in the way of another one of its name.
      expect(Properties).not.toHaveProperty('LogGroupName');
      expect(Properties.RetentionInDays).toBe(given.logRetentionDays);
      expect(Properties.KmsKeyId && show(Properties.KmsKeyId)).toBe(isOurs ? 'LogKey' : undefined);
    }
    for (const { LoggingConfig } of all('Lambda::Function')) {
      if (isOurs) expect(ids('Logs::LogGroup')).toContain(LoggingConfig.LogGroup.Ref);
    }
  });

  test('of keys: each that encrypts rotates, and the others sign', () => {
    for (const { KeyUsage, EnableKeyRotation } of all('KMS::Key')) {
      expect([KeyUsage, EnableKeyRotation]).toEqual(KeyUsage ? ['SIGN_VERIFY', undefined] : [undefined, true]);
    }
  });

  test('of outputs: the service stack finds each that it needs', () => {
    const wanted = [...JSON.stringify(service).matchAll(/"Fn::GetStackOutput":\{[^}]*"OutputName":"(\w+)"\}/g)];
    expect(wanted.length).toBeGreaterThan(5);
    expect(wanted.map(([, output]) => output).filter((output) => !(output! in storage.Outputs))).toEqual([]);
  });
});

describe('what one function alone does', () => {
  /** The denials that depend on the caller, as resource, actions and the pattern of the admitted role. */
  const denials = ({ statements }: typeof defaults) => {
    const all = [...statements('S3::BucketPolicy'), ...statements('KMS::Key', 'KeyPolicy')];
    const ofOthers = all.filter(({ Condition }) => /aws:PrincipalArn/.test(JSON.stringify(Condition)));
    return ofOthers.map(({ Resource, Action, Condition, ...others }) => {
      expect(others).toEqual({ Effect: 'Deny', Principal: { AWS: '*' } });
      expect(Condition).toEqual({ ArnNotLike: { 'aws:PrincipalArn': expect.anything() } });
      return [show(Resource), Action, anywhere(Condition.ArnNotLike['aws:PrincipalArn'])];
    });
  };
  const role = (names: string) => `arn:AWS::Partition:iam::AWS::AccountId:role/${names}`;
  const writing = ['s3:PutObject', 's3:ReplicateObject'];
  const recipient = '?'.repeat(64);

  test.each(every)('is to write its part of the outbox, and to sign receipts (%s)', (_, stacks) => {
    const { given, all } = stacks;
    const of = (name: string) => role(`DataOutService${given.stage ? `-${given.stage}` : ''}-Functions${name}*`);
    const signing = all('KMS::Key').filter(({ KeyUsage }) => KeyUsage === 'SIGN_VERIFY');
    expect(signing).toHaveLength(given.receiptKeys ?? 1);
    expect(denials(stacks)).toEqual([
      [`OutboxBucket/${recipient}/*.c4gh`, writing, of('StageFileRole')],
      [`OutboxBucket/${recipient}/*.delivery.jws`, writing, of('SettleDeliveryR')],
      ['OutboxBucket/direct/*', writing, of('DirectFileRole')],
      ...signing.map(() => ['*', 'kms:Sign', of('SettleDeliveryR')]),
    ]);
    for (const { KeyPolicy } of signing) {
      expect(KeyPolicy.Statement.filter(({ Effect }: Any) => Effect === 'Deny')).toHaveLength(1);
    }
  });

  // CloudFormation cuts stack and logical id when both are long. Such names were seen in AWS, for other stacks.
  test.each([
    ['prod', 'DataOutService-prod-FunctionsStageFileRole*'],
    ['productio', 'DataOutService-productio-FunctionsStageFileRole*'],
    ['production-sweden-01', 'DataOutService-productio*-FunctionsStageFileRole*'],
  ])('is known by the names that the role has with the stage %s', (stage, names) => {
    expect(denials(stacksOf({ stage }))[0]?.[2]).toBe(role(names));
  });

  test('is to read the secret of the owner of the database, and where the direct API is off, the archive keys', () => {
    const naming = (change: Partial<Settings>, what: RegExp) =>
      stacksOf(change)
        .all('IAM::Policy')
        .filter(({ PolicyDocument }) => what.test(JSON.stringify(PolicyDocument)))
        .map(({ PolicyName }) => functionName(PolicyName));
    expect(naming(existing, new RegExp(existing.database.secretArn))).toEqual(['Migrate']);
    expect(naming({ directAccess: 'off' }, /"OutputName":"\w+ArchiveKeys(Secret|Key)/)).toEqual(['StageFile']);
  });
});

describe('the order of a deployment', () => {
  const dependsOn = (id: string): readonly string[] => defaults.resources[id].DependsOn ?? [];
  const idOf = (begin: RegExp) => Object.keys(defaults.resources).find((id) => begin.test(id)) ?? '';

  test('is the migration before each function that uses the catalogue, and a reader before the sender', () => {
    const users = defaults.ids('Lambda::Function').filter((id) => {
      const { Variables = {} } = defaults.resources[id].Properties.Environment ?? {};
      return 'DATABASE_SECRET_ARN' in Variables && functionName(id) !== 'Migrate';
    });
    expect(users.length).toBeGreaterThan(10);
    for (const id of users) expect(dependsOn(id), id).toContain('Migration');
    expect(dependsOn(idOf(/^FunctionsConsumeExportFunction/))).toContain(idOf(/^FunctionsStageFileFunction/));
  });

  test('is the role for access logs before the stages, and the storage stack before the service', () => {
    for (const id of defaults.ids('ApiGateway::Stage')) expect(dependsOn(id)).toContain(idOf(/^ApiGatewayLogsAccount/));
    const { storage, service } = addStacks(templateApp(), { ...settings, stage: 'test' });
    expect([storage.stackName, service.stackName]).toEqual(['DataOutStorage-test', 'DataOutService-test']);
    expect(service.dependencies).toEqual([storage]);
  });
});

test('a cluster that may sleep is woken for deprecated datasets twice a day', () => {
  const { all } = stacksOf({ database: { minCapacity: 0, maxCapacity: 8, backupDays: 14 } });
  const [rule] = all('Events::Rule').filter(({ Description }) => /deprecated/.test(Description));
  const [alarm] = all('CloudWatch::Alarm').filter(({ MetricName }) => MetricName === 'WithdrawnInOutbox');
  // The longest period of an alarm that is evaluated at once.
  expect([rule.ScheduleExpression, alarm.Period]).toEqual(['rate(12 hours)', 86_400]);
});

test.each([[{ concurrency: { ...settings.concurrency, directFiles: 'off' } }], [{ directAccess: 'off' }]] as const)(
  'nothing is reserved for direct files with %j',
  (change) => {
    expect(JSON.stringify(stacksOf(change).service)).not.toContain('"ReservedConcurrentExecutions"');
  },
);

test('the security rules and the validation of the template find nothing', async () => {
  const report = JSON.parse(readFileSync(join(await assembly(), 'validation-report.json'), 'utf8'));
  const findings = report.pluginReports.flatMap(({ violations }: Any) =>
    violations.map(({ ruleName }: Any) => ruleName),
  );
  // An operator who trusts no issuer is warned that every visa will be refused.
  expect(findings).toEqual(['Annotation::data-out:nobody-is-trusted']);
  const manifest = JSON.parse(readFileSync(join(await assembly(), 'manifest.json'), 'utf8'));
  // A first deployment that fails is not locked in: protections come after it.
  expect(manifest.artifacts.DataOutStorage.properties.terminationProtection).toBeFalsy();
}, 120_000);
