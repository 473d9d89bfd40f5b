import { beforeAll, describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { templatesOf } from '../helpers/synthesized.ts';
import { show, stackTemplate } from '../helpers/template.ts';

/** Every function writes its own log and traces. Beyond that: action, resource, condition, and nothing else. */
const through = (service: string) =>
  `{"StringEquals":{"kms:ViaService":{"Fn::Join":["",["${service}.",{"Ref":"AWS::Region"},".amazonaws.com"]]}}}`;
const throughSecretsManager = through('secretsmanager');
/** Keys of recipients begin with the 64 characters of a hash, and nothing of direct access does. */
const ofRecipients = `${'?'.repeat(64)}/*`;
const containers = `${ofRecipients}.c4gh`;
const receipts = `${ofRecipients}.delivery.jws`;
const under = (prefix: string) => `{"StringLike":{"s3:prefix":"${prefix}"}}`;
const cluster = 'arn:AWS::Partition:rds:AWS::Region:AWS::AccountId:cluster:CatalogueCluster';
const catalogue = [
  `kms:Decrypt CatalogueKey ${throughSecretsManager}`,
  `rds-data:ExecuteStatement ${cluster}`,
  'secretsmanager:GetSecretValue CatalogueCluster',
];
const proxySecret = [
  `kms:Decrypt CatalogueProxyKey ${throughSecretsManager}`,
  'secretsmanager:GetSecretValue CatalogueProxySecret',
];
const auditorSecret = [
  `kms:Decrypt CatalogueAuditorKey ${throughSecretsManager}`,
  'secretsmanager:GetSecretValue CatalogueAuditorSecret',
];
const readerSecret = [
  `kms:Decrypt CatalogueReaderKey ${throughSecretsManager}`,
  'secretsmanager:GetSecretValue CatalogueReaderSecret',
];
const denyList = [
  `kms:Decrypt VisaDenyListKey ${throughSecretsManager}`,
  'secretsmanager:GetSecretValue VisaDenyListSecret',
];
/** The token of a ticket is made by one function and checked by two. */
const ticketKey = [
  `kms:Decrypt FunctionsTicketKey ${throughSecretsManager}`,
  'secretsmanager:GetSecretValue FunctionsTicketKeySecret',
];
const workerSecret = [
  `kms:Decrypt CatalogueWorkerKey ${throughSecretsManager}`,
  'secretsmanager:GetSecretValue CatalogueWorkerSecret',
];
const working = [`rds-data:ExecuteStatement ${cluster}`, ...workerSecret];
const reading = [`rds-data:ExecuteStatement ${cluster}`, ...readerSecret];
const transactions = ['BeginTransaction', 'CommitTransaction', 'RollbackTransaction'].map(
  (action) => `rds-data:${action} ${cluster}`,
);
const datasetsAndFiles = [...reading, ...denyList];
const archiveUsers = [`rds-data:ExecuteStatement ${cluster}`, ...proxySecret, ...denyList];
const take = (queue: string) =>
  ['DeleteMessage', 'GetQueueAttributes', 'ReceiveMessage'].map((action) => `sqs:${action} ${queue}`);
/** The consumer of a work queue also delays the next receive of a message that failed. */
const consume = (queue: string) => [...take(queue), `sqs:ChangeMessageVisibility ${queue}`];
const expected: Readonly<Record<string, readonly string[]>> = {
  AuthorizeAdmin: [
    `kms:Decrypt AdministratorsKey ${throughSecretsManager}`,
    'secretsmanager:GetSecretValue AdministratorsSecret',
  ],
  Export: [
    `kms:Decrypt ExportRequestsKey ${through('sqs')}`,
    `kms:GenerateDataKey ExportRequestsKey ${through('sqs')}`,
    'sqs:SendMessage ExportRequestsQueue',
  ],
  // It reads what happened to exports, and nothing else.
  ExportStatus: [`rds-data:ExecuteStatement ${cluster}`, ...auditorSecret],
  AdminPage: [],
  // It reads the archive users and nothing else.
  AuthorizeOutbox: archiveUsers,
  Files: [...denyList, `s3:ListBucket OutboxBucketArn ${under(ofRecipients)}`],
  Stream: [
    ...denyList,
    `kms:Decrypt OutboxKey ${through('s3')}`,
    `s3:GetObject OutboxBucketArn/${ofRecipients}`,
    `s3:ListBucket OutboxBucketArn ${under(ofRecipients)}`,
  ],
  ServiceInfo: [],
  AuthorizeVisa: [...denyList, ...ticketKey],
  Datasets: datasetsAndFiles,
  DirectFile: [
    ...datasetsAndFiles,
    `kms:Decrypt ArchiveBucketKey ${through('s3')}`,
    `kms:Decrypt ArchiveKeysKey ${throughSecretsManager}`,
    `kms:Decrypt OutboxKey ${through('s3')}`,
    `kms:GenerateDataKey OutboxKey ${through('s3')}`,
    's3:AbortMultipartUpload OutboxBucketArn/direct/*',
    's3:GetObject ArchiveBucketArn/*',
    's3:GetObject OutboxBucketArn/direct/*',
    's3:ListBucket ArchiveBucketArn',
    `s3:ListBucket OutboxBucketArn ${under('direct/*')}`,
    's3:PutObject OutboxBucketArn/direct/*',
    'secretsmanager:GetSecretValue ArchiveKeysSecret',
  ],
  // Anyone can call it, so it has no key of the archive and sees no bucket.
  Drs: datasetsAndFiles,
  // It decrypts, and has nothing to write.
  Htsget: [
    ...datasetsAndFiles,
    ...ticketKey,
    `kms:Decrypt ArchiveBucketKey ${through('s3')}`,
    `kms:Decrypt ArchiveKeysKey ${throughSecretsManager}`,
    's3:GetObject ArchiveBucketArn/*',
    's3:ListBucket ArchiveBucketArn',
    'secretsmanager:GetSecretValue ArchiveKeysSecret',
  ],
  ConsumeExport: [
    ...working,
    ...transactions,
    ...denyList,
    ...consume('ExportRequestsQueue'),
    `kms:Decrypt ExportRequestsKey ${through('sqs')}`,
    'sqs:SendMessage FileExportsQueue',
    'sqs:SendMessage SmallFileExportsQueue',
  ],
  StageFile: [
    ...working,
    ...denyList,
    ...consume('FileExportsQueue'),
    ...consume('SmallFileExportsQueue'),
    `kms:Decrypt ArchiveBucketKey ${through('s3')}`,
    `kms:Decrypt ArchiveKeysKey ${throughSecretsManager}`,
    `kms:Decrypt OutboxKey ${through('s3')}`,
    `kms:GenerateDataKey OutboxKey ${through('s3')}`,
    `s3:AbortMultipartUpload OutboxBucketArn/${containers}`,
    `s3:DeleteObject OutboxBucketArn/${containers}`,
    's3:GetObject ArchiveBucketArn/*',
    `s3:GetObject OutboxBucketArn/${containers}`,
    's3:ListBucket ArchiveBucketArn',
    `s3:ListBucket OutboxBucketArn ${under(containers)}`,
    `s3:ListMultipartUploadParts OutboxBucketArn/${containers}`,
    `s3:PutObject OutboxBucketArn/${containers}`,
    'secretsmanager:GetSecretValue ArchiveKeysSecret',
    'sqs:SendMessage DeliveriesQueue',
    'sqs:SendMessage FileExportsQueue',
  ],
  RecordDeadLetters: [
    ...working,
    ...['ExportRequests', 'FileExports', 'SmallFileExports', 'Deliveries'].flatMap((name) =>
      take(`${name}DeadLettersQueue`),
    ),
    `kms:Decrypt ExportRequestsKey ${through('sqs')}`,
    'sqs:SendMessage DeliveriesQueue',
  ],
  SweepDeliveries: [
    ...working,
    'sqs:SendMessage DeliveriesQueue',
    'sqs:SendMessage FileExportsQueue',
    'sqs:SendMessage SmallFileExportsQueue',
  ],
  // The only function that signs and writes receipts. It can write no container.
  SettleDelivery: [
    ...working,
    ...consume('DeliveriesQueue'),
    `kms:GenerateDataKey OutboxKey ${through('s3')}`,
    'kms:GetPublicKey ReceiptKeysKey',
    'kms:Sign ReceiptKeysKey',
    `s3:GetObject OutboxBucketArn/${receipts}`,
    `s3:ListBucket OutboxBucketArn ${under(receipts)}`,
    `s3:PutObject OutboxBucketArn/${receipts}`,
  ],
  // Anyone can call it.
  Jwks: ['kms:GetPublicKey ReceiptKeysKey'],
  // It reads what metadata says, but may not use the key that reading a container takes. It deletes nothing by default.
  Withdraw: [
    ...working,
    `s3:GetObject OutboxBucketArn/${ofRecipients}`,
    's3:GetObject OutboxBucketArn/direct/*',
    `s3:ListBucket OutboxBucketArn ${under(ofRecipients)}`,
    `s3:ListBucket OutboxBucketArn ${under('direct/*')}`,
    'sqs:SendMessage DeliveriesQueue',
  ],
  // It sets the protection of one stack and one cluster.
  Protect: ['cloudformation:UpdateTerminationProtection AWSStackId', `rds:ModifyDBCluster ${cluster}`],
  Migrate: [...catalogue, ...proxySecret, ...auditorSecret, ...readerSecret, ...workerSecret, ...transactions],
};

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly Principal?: unknown;
}

let service: Awaited<ReturnType<typeof stackTemplate>>;
let storage: Awaited<ReturnType<typeof stackTemplate>>;
beforeAll(async () => {
  service = await stackTemplate('DataOutService');
  storage = await stackTemplate('DataOutStorage');
});

/** The allowed actions of a policy document, one line an action and resource. */
function lines(statements: readonly Statement[]): string[] {
  return statements
    .flatMap((statement) => {
      expect(statement.Effect).toBe('Allow');
      return [statement.Action].flat().flatMap((action) =>
        [statement.Resource].flat().map((resource) => {
          const condition = statement.Condition ? ` ${JSON.stringify(statement.Condition)}` : '';
          return `${action} ${show(resource)}${condition}`;
        }),
      );
    })
    .sort();
}

describe('each function has the permissions it needs and no other', () => {
  const documents = ['Proxy/OpenApi/ProxyOpenApi', 'DataOut/OpenApi/DataOutOpenApi'];
  const all = [
    ...Object.entries(expected).map(([name, permissions]) => [`Functions/${name}`, permissions] as const),
    ...documents.map((path) => [path, []] as const),
  ];

  test.each(all)('%s', (path, permissions) => {
    const { Properties } = service.at(`${path}/Role/DefaultPolicy`);
    const name = path.replaceAll('/', '');
    const basics = [
      `logs:CreateLogStream ${name}Logs`,
      `logs:PutLogEvents ${name}Logs`,
      'xray:PutTelemetryRecords *',
      'xray:PutTraceSegments *',
    ];
    expect(lines(Properties.PolicyDocument.Statement)).toEqual([...basics, ...permissions].sort());
  });

  test('no other function and no other way to a permission', () => {
    const own = all.length;
    // One more function and role for the trigger that runs the migration, one role for API Gateway's logs, one for operators.
    expect(service.all('AWS::Lambda::Function')).toHaveLength(own + 1);
    const roles = service.all('AWS::IAM::Role');
    expect(roles).toHaveLength(own + 3);
    expect(service.all('AWS::IAM::Policy')).toHaveLength(own + 1);
    for (const { Properties, Metadata } of roles) {
      if (!Metadata?.['aws:cdk:path']?.match(/\/(Functions|OpenApi)\//)) continue;
      const { Path: _, ...others } = Properties;
      expect(Object.keys(others).sort()).toEqual(['AssumeRolePolicyDocument', 'Description', 'Tags']);
    }
  });

  test('no key that encrypts is for any use: each grant names the service that uses it', () => {
    const statements = service
      .all('AWS::IAM::Policy')
      .flatMap(({ Properties }): readonly Statement[] => Properties.PolicyDocument.Statement)
      .filter(({ Action }) => /"kms:(?!Sign|GetPublicKey)/.test(JSON.stringify(Action)));
    expect(statements.length).toBeGreaterThan(10);
    for (const { Condition } of statements) {
      const services = ['s3', 'secretsmanager', 'sqs'].map(through);
      expect(services).toContain(JSON.stringify(Condition));
    }
  });
});

describe('what one function alone does', () => {
  /** The denials of a policy that depend on the caller, as resource, actions and the pattern of the admitted role. */
  const denials = ({ Statement: statements }: { Statement: readonly Statement[] }) =>
    statements
      .filter(({ Effect, Condition }) => Effect === 'Deny' && Condition?.ArnNotLike)
      .map(({ Principal, Action, Resource, Condition }) => {
        expect(Principal).toEqual({ AWS: '*' });
        return [show(Resource), Action, show(Condition?.ArnNotLike?.['aws:PrincipalArn'])];
      });
  const role = (names: string) => `arn:AWS::Partition:iam::AWS::AccountId:role/${names}`;
  const writing = ['s3:PutObject', 's3:ReplicateObject'];
  const recipient = '?'.repeat(64);

  test('is to write its part of the outbox, and to sign receipts', () => {
    expect(denials(storage.at('Outbox/Bucket/Policy').Properties.PolicyDocument)).toEqual([
      [`OutboxBucket/${recipient}/*.c4gh`, writing, role('DataOutService-FunctionsStageFileRole*')],
      [`OutboxBucket/${recipient}/*.delivery.jws`, writing, role('DataOutService-FunctionsSettleDeliveryR*')],
      ['OutboxBucket/direct/*', writing, role('DataOutService-FunctionsDirectFileRole*')],
    ]);
    expect(denials(storage.at('ReceiptKeys/Key1').Properties.KeyPolicy)).toEqual([
      ['*', 'kms:Sign', role('DataOutService-FunctionsSettleDeliveryR*')],
    ]);
  });

  // CloudFormation cuts stack and logical id when both are long. Such names were seen in AWS, for other stacks.
  test.each([
    ['prod', 'DataOutService-prod-FunctionsStageFileRole*'],
    ['productio', 'DataOutService-productio-FunctionsStageFileRole*'],
    ['production-sweden-01', 'DataOutService-productio*-FunctionsStageFileRole*'],
  ])('is known by the names that the role has with the stage %s', (stage, names) => {
    const { stored } = templatesOf({ ...settings, stage });
    const [policy] = Object.values(stored.findResources('AWS::S3::BucketPolicy')).flatMap(({ Properties }) => {
      const found = denials(Properties.PolicyDocument);
      return found.length > 0 ? [found] : [];
    });
    expect(policy?.[0]?.[2]).toBe(role(names));
  });

  test('keeps the role that it had, because a path would replace it', () => {
    for (const { Properties } of service.all('AWS::IAM::Role')) expect(Properties.Path).toBeUndefined();
  });
});

describe('queues', () => {
  /** What the policies of a queue refuse beside plain HTTP, whatever a caller's own policies allow. */
  const refusals = (stack: typeof service, queue: string) =>
    stack
      .all('AWS::SQS::QueuePolicy')
      .filter(({ Properties }) => show(Properties.Queues[0]) === queue)
      .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
      .filter(({ Action }) => Action !== 'sqs:*');

  test.each([
    ['ExportRequests', ['Export']],
    ['FileExports', ['ConsumeExport', 'StageFile', 'SweepDeliveries', 'Operators']],
    ['SmallFileExports', ['ConsumeExport', 'SweepDeliveries', 'Operators']],
    ['Deliveries', ['StageFile', 'RecordDeadLetters', 'SweepDeliveries', 'Withdraw', 'Operators']],
  ])('%s takes messages of %j only', (name, senders) => {
    const queue = `${name}Queue`;
    const [refusal, ...others] = refusals(service, queue);
    expect(others).toEqual([]);
    expect(refusal).toMatchObject({ Effect: 'Deny', Principal: { AWS: '*' }, Action: 'sqs:SendMessage' });
    expect(show(refusal.Resource)).toBe(queue);
    const { ArnNotEquals, ...rest } = refusal.Condition;
    expect(rest).toEqual({});
    const roles = senders.map((sender) => `${sender === 'Operators' ? '' : 'Functions'}${sender}Role`);
    expect(ArnNotEquals['aws:PrincipalArn'].map(show)).toEqual(roles);
  });

  test.each(['ExportRequests', 'FileExports', 'SmallFileExports', 'Deliveries'])(
    'the dead letters of %s take what SQS moves there, and no more',
    (name) => {
      const [refusal, ...others] = refusals(storage, `${name}DeadLettersQueue`);
      expect(others).toEqual([]);
      expect(refusal).toMatchObject({
        Effect: 'Deny',
        Principal: { AWS: '*' },
        Action: 'sqs:SendMessage',
        Condition: { Bool: { 'aws:PrincipalIsAWSService': 'false' } },
      });
      const { redrivePermission, sourceQueueArns } = storage.at(`${name}DeadLetters/Queue`).Properties
        .RedriveAllowPolicy;
      expect(redrivePermission).toBe('byQueue');
      const { QueueName } = service.at(`${name}/Queue`).Properties;
      expect(QueueName).toBe(`DataOutService-${name}`);
      expect(sourceQueueArns.map(show)).toEqual([`arn:AWS::Partition:sqs:AWS::Region:AWS::AccountId:${QueueName}`]);
    },
  );
});

test('no function may call another', () => {
  const statements = service
    .all('AWS::IAM::Policy')
    .flatMap(({ Properties }) => lines(Properties.PolicyDocument.Statement));
  expect(statements.length).toBeGreaterThan(100);
  expect(statements.filter((line) => line.startsWith('lambda:'))).toEqual([]);
});

test('roles are for Lambda, one for API Gateway’s logs, one for operators; no policy lets a wildcard principal in', () => {
  const principals = service
    .all('AWS::IAM::Role')
    .flatMap(({ Properties }) => Properties.AssumeRolePolicyDocument.Statement)
    .map(({ Principal }) => Principal);
  const [first, second, ...others] = principals.filter(({ Service }) => Service !== 'lambda.amazonaws.com');
  expect(others).toEqual([]);
  expect(show(first.AWS)).toBe('arn:AWS::Partition:iam::AWS::AccountId:root');
  expect(second).toEqual({ Service: 'apigateway.amazonaws.com' });
  const documents = [...service.all('AWS::SQS::QueuePolicy'), ...storage.all('AWS::SQS::QueuePolicy')]
    .concat(storage.all('AWS::S3::BucketPolicy'))
    .map(({ Properties }) => Properties.PolicyDocument)
    .concat(storage.all('AWS::KMS::Key').map(({ Properties }) => Properties.KeyPolicy));
  const allowing = documents.flatMap(({ Statement }) => Statement).filter(({ Effect }) => Effect === 'Allow');
  expect(allowing.length).toBeGreaterThan(0);
  for (const { Principal } of allowing) expect(JSON.stringify(Principal)).not.toContain('*');
});
