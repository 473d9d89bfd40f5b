import { beforeAll, describe, expect, test } from 'vitest';
import { show, stackTemplate } from '../helpers/template.ts';

/** Every function writes its own log and traces. Beyond that: action, resource, condition, and nothing else. */
const throughSecretsManager =
  '{"StringEquals":{"kms:ViaService":{"Fn::Join":["",["secretsmanager.",{"Ref":"AWS::Region"},".amazonaws.com"]]}}}';
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
const readerSecret = [
  `kms:Decrypt CatalogueReaderKey ${throughSecretsManager}`,
  'secretsmanager:GetSecretValue CatalogueReaderSecret',
];
const datasetsAndFiles = [`rds-data:ExecuteStatement ${cluster}`, ...readerSecret];
const archiveUsers = [`rds-data:ExecuteStatement ${cluster}`, ...proxySecret];
const consume = (queue: string) =>
  ['ChangeMessageVisibility', 'DeleteMessage', 'GetQueueAttributes', 'GetQueueUrl', 'ReceiveMessage'].map(
    (action) => `sqs:${action} ${queue}`,
  );
const expected: Readonly<Record<string, readonly string[]>> = {
  AuthorizeAdmin: [
    `kms:Decrypt AdministratorsKey ${throughSecretsManager}`,
    'secretsmanager:GetSecretValue AdministratorsSecret',
  ],
  Export: ['sqs:SendMessage ExportRequestsQueue'],
  // The one function of the proxy with a way to the database, and that to nothing but passwords.
  AuthorizeOutbox: archiveUsers,
  Files: [`s3:ListBucket OutboxBucketArn {"StringLike":{"s3:prefix":"${'?'.repeat(64)}/*"}}`],
  Stream: ['kms:Decrypt OutboxKey', 's3:GetObject OutboxBucketArn/*', 's3:ListBucket OutboxBucketArn'],
  ServiceInfo: [],
  AuthorizeVisa: [],
  Datasets: datasetsAndFiles,
  DatasetFiles: datasetsAndFiles,
  DirectFile: [
    ...datasetsAndFiles,
    'kms:Decrypt ArchiveBucketKey',
    `kms:Decrypt ArchiveKeysKey ${throughSecretsManager}`,
    'kms:Decrypt OutboxKey',
    'kms:GenerateDataKey OutboxKey',
    's3:AbortMultipartUpload OutboxBucketArn/direct/*',
    's3:GetObject ArchiveBucketArn/*',
    's3:GetObject OutboxBucketArn/direct/*',
    's3:ListBucket ArchiveBucketArn',
    's3:ListBucket OutboxBucketArn',
    's3:ListBucketMultipartUploads OutboxBucketArn',
    's3:PutObject OutboxBucketArn/direct/*',
    'secretsmanager:GetSecretValue ArchiveKeysSecret',
  ],
  // May read a body's size, but has no use of the key that it would take to read the body.
  Drs: [
    ...datasetsAndFiles,
    `kms:Decrypt ArchiveKeysKey ${throughSecretsManager}`,
    's3:GetObject ArchiveBucketArn/*',
    's3:ListBucket ArchiveBucketArn',
    'secretsmanager:GetSecretValue ArchiveKeysSecret',
  ],
  ConsumeExport: [...catalogue, ...consume('ExportRequestsQueue'), 'sqs:SendMessage FileExportsQueue'],
  StageFile: [
    ...catalogue,
    ...consume('FileExportsQueue'),
    'kms:Decrypt ArchiveBucketKey',
    `kms:Decrypt ArchiveKeysKey ${throughSecretsManager}`,
    'kms:Decrypt OutboxKey',
    'kms:GenerateDataKey OutboxKey',
    's3:AbortMultipartUpload OutboxBucketArn/*',
    's3:GetObject ArchiveBucketArn/*',
    's3:GetObject OutboxBucketArn/*',
    's3:ListBucket ArchiveBucketArn',
    's3:ListBucket OutboxBucketArn',
    's3:ListBucketMultipartUploads OutboxBucketArn',
    's3:PutObject OutboxBucketArn/*',
    'secretsmanager:GetSecretValue ArchiveKeysSecret',
  ],
  Migrate: [
    ...catalogue,
    ...proxySecret,
    ...readerSecret,
    ...['BeginTransaction', 'CommitTransaction', 'RollbackTransaction'].map(
      (action) => `rds-data:${action} ${cluster}`,
    ),
  ],
};

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
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

describe('each function may do what it needs and nothing else', () => {
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
    // One more function and role for the trigger that runs the migration, one role for API Gateway's logs.
    expect(service.all('AWS::Lambda::Function')).toHaveLength(own + 1);
    const roles = service.all('AWS::IAM::Role');
    expect(roles).toHaveLength(own + 2);
    expect(service.all('AWS::IAM::Policy')).toHaveLength(own);
    for (const { Properties, Metadata } of roles) {
      if (!Metadata?.['aws:cdk:path']?.match(/\/(Functions|OpenApi)\//)) continue;
      expect(Object.keys(Properties).sort()).toEqual(['AssumeRolePolicyDocument', 'Description', 'Tags']);
    }
  });

  test('the function that takes export requests reads no secret, bucket or database', () => {
    const { Properties } = service.at('Functions/Export/Role/DefaultPolicy');
    const actions = Properties.PolicyDocument.Statement.flatMap(({ Action }: Statement) => Action);
    expect(actions.filter((action: string) => /^(secretsmanager|s3|rds-data|kms):/.test(action))).toEqual([]);
  });
});

test('roles are for Lambda, and one for API Gateway’s logs; no policy lets a wildcard principal in', () => {
  const principals = service
    .all('AWS::IAM::Role')
    .flatMap(({ Properties }) => Properties.AssumeRolePolicyDocument.Statement)
    .map(({ Principal }) => Principal);
  expect(principals.filter(({ Service }) => Service !== 'lambda.amazonaws.com')).toEqual([
    { Service: 'apigateway.amazonaws.com' },
  ]);
  const documents = [...service.all('AWS::SQS::QueuePolicy'), ...storage.all('AWS::SQS::QueuePolicy')]
    .concat(storage.all('AWS::S3::BucketPolicy'))
    .map(({ Properties }) => Properties.PolicyDocument)
    .concat(storage.all('AWS::KMS::Key').map(({ Properties }) => Properties.KeyPolicy));
  const allowing = documents.flatMap(({ Statement }) => Statement).filter(({ Effect }) => Effect === 'Allow');
  expect(allowing.length).toBeGreaterThan(0);
  for (const { Principal } of allowing) expect(JSON.stringify(Principal)).not.toContain('*');
});
