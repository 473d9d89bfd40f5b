import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { assembly } from '../helpers/assembly.ts';
import { show, stackTemplate } from '../helpers/template.ts';

let storage: Awaited<ReturnType<typeof stackTemplate>>;
beforeAll(async () => {
  storage = await stackTemplate('DataOutStorage');
});

const buckets = ['Archive/Bucket', 'Outbox/Bucket', 'AccessLogs'];

describe('buckets', () => {
  test.each(buckets)('%s is closed to the public and to plain HTTP', (path) => {
    const { Properties } = storage.at(path);
    expect(Properties.PublicAccessBlockConfiguration).toEqual({
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    });
    expect(Properties.OwnershipControls.Rules).toEqual([{ ObjectOwnership: 'BucketOwnerEnforced' }]);
    const denials = storage
      .at(`${path}/Policy`)
      .Properties.PolicyDocument.Statement.filter(
        ({ Effect, Action }: { Effect: string; Action: unknown }) => Effect === 'Deny' && Action === 's3:*',
      );
    for (const denial of denials) expect(denial.Principal).toEqual({ AWS: '*' });
    expect(denials.map(({ Condition }: { Condition: unknown }) => Condition)).toEqual([
      { Bool: { 'aws:SecureTransport': 'false' } },
      { NumericLessThan: { 's3:TlsVersion': 1.2 } },
    ]);
  });

  test.each([
    ['Archive/Bucket', 'ArchiveBucketKey', 'archive/'],
    ['Outbox/Bucket', 'OutboxKey', 'outbox/'],
  ])('%s is under its own customer key, and who reads it is logged', (path, key, prefix) => {
    const { Properties } = storage.at(path);
    const [rule] = Properties.BucketEncryption.ServerSideEncryptionConfiguration;
    expect(rule.ServerSideEncryptionByDefault.SSEAlgorithm).toBe('aws:kms');
    expect(show(rule.ServerSideEncryptionByDefault.KMSMasterKeyID)).toBe(key);
    expect(rule.BucketKeyEnabled).toBe(true);
    expect(show(Properties.LoggingConfiguration.DestinationBucketName)).toBe('AccessLogs');
    expect(Properties.LoggingConfiguration.LogFilePrefix).toBe(prefix);
  });

  test('the outbox forgets containers after 30 days, those of direct access after one, and unfinished uploads after 2', () => {
    const { Properties } = storage.at('Outbox/Bucket');
    expect(Properties.LifecycleConfiguration.Rules).toEqual([
      { Id: 'expiry', Status: 'Enabled', ExpirationInDays: 30 },
      { Id: 'direct', Status: 'Enabled', Prefix: 'direct/', ExpirationInDays: 1 },
      { Id: 'unfinished-uploads', Status: 'Enabled', AbortIncompleteMultipartUpload: { DaysAfterInitiation: 2 } },
    ]);
    expect(Properties.VersioningConfiguration).toBeUndefined();
  });

  test('an archived body can be brought back, and never expires', () => {
    const { Properties } = storage.at('Archive/Bucket');
    expect(Properties.VersioningConfiguration).toEqual({ Status: 'Enabled' });
    expect(JSON.stringify(Properties.LifecycleConfiguration)).not.toMatch(/Expiration/);
  });
});

describe('catalogue', () => {
  test('is an encrypted Aurora Serverless v2 cluster with the Data API and a rotated password', () => {
    expect(storage.at('Catalogue/Cluster').Properties).toMatchObject({
      Engine: 'aurora-postgresql',
      // AWS upgrades minor versions, and a later release that named a lower one would be rolled back.
      EngineVersion: '18',
      EnableHttpEndpoint: true,
      StorageEncrypted: true,
      BackupRetentionPeriod: 14,
      ManageMasterUserPassword: true,
      ServerlessV2ScalingConfiguration: { MinCapacity: 0.5, MaxCapacity: 8 },
    });
    expect(storage.at('Catalogue/Cluster').Properties.MasterUserPassword).toBeUndefined();
    expect(storage.at('Catalogue/Cluster/writer').Properties).toMatchObject({
      DBInstanceClass: 'db.serverless',
      PubliclyAccessible: false,
      AutoMinorVersionUpgrade: true,
    });
  });

  test('lets no function change its own password', () => {
    const [group, ...others] = storage.all('AWS::RDS::DBClusterParameterGroup');
    expect(others).toEqual([]);
    expect(group?.Properties).toMatchObject({
      Family: 'aurora-postgresql18',
      Parameters: { 'rds.restrict_password_commands': '1' },
    });
    expect(show(storage.at('Catalogue/Cluster').Properties.DBClusterParameterGroupName)).toBe(
      'CatalogueClusterParameterGroup',
    );
  });

  test('has no way in or out of its network', () => {
    for (const type of ['InternetGateway', 'NatGateway', 'EgressOnlyInternetGateway', 'VPCEndpoint', 'Route']) {
      expect(storage.all(`AWS::EC2::${type}`)).toEqual([]);
    }
    const [group, ...others] = storage.all('AWS::EC2::SecurityGroup');
    expect(others).toEqual([]);
    expect(group?.Properties.SecurityGroupIngress).toBeUndefined();
    expect(group?.Properties.SecurityGroupEgress).toEqual([expect.objectContaining({ CidrIp: '255.255.255.255/32' })]);
    expect(storage.all('AWS::EC2::SecurityGroupIngress')).toEqual([]);
  });
});

test('every key that encrypts rotates; the one that signs receipts signs, and no more', () => {
  const isSigner = ({ Properties }: { Properties: { KeyUsage?: string } }) => Properties.KeyUsage === 'SIGN_VERIFY';
  const [signer, ...others] = storage.all('AWS::KMS::Key').filter(isSigner);
  expect(others).toEqual([]);
  expect(signer?.Properties.KeySpec).toBe('ECC_NIST_P256');
  const keys = storage.all('AWS::KMS::Key').filter((key) => !isSigner(key));
  expect(keys).toHaveLength(11);
  for (const { Properties } of keys) expect(Properties.EnableKeyRotation).toBe(true);
});

test('secrets start empty or are made up, and are under their own keys', () => {
  const secrets = storage.all('AWS::SecretsManager::Secret');
  const given = secrets.map(({ Properties }) => Properties.SecretString).filter((text) => text !== undefined);
  expect(given.sort()).toEqual(['{"denied":[]}', '{"keys":[]}', '{"users":[]}']);
  for (const [id, username] of [
    ['ProxySecret', 'data_out_proxy'],
    ['AuditorSecret', 'data_out_auditor'],
    ['ReaderSecret', 'data_out_reader'],
    ['WorkerSecret', 'data_out_worker'],
  ]) {
    expect(storage.at(`Catalogue/${id}`).Properties.GenerateSecretString).toEqual({
      SecretStringTemplate: `{"username":"${username}"}`,
      GenerateStringKey: 'password',
      PasswordLength: 48,
      ExcludePunctuation: true,
    });
  }
  expect(secrets.map(({ Properties }) => show(Properties.KmsKeyId)).sort()).toEqual([
    'AdministratorsKey',
    'ArchiveKeysKey',
    'CatalogueAuditorKey',
    'CatalogueProxyKey',
    'CatalogueReaderKey',
    'CatalogueWorkerKey',
    'VisaDenyListKey',
  ]);
});

test('dead letters are sealed and kept for 14 days, those with visas under their own key', () => {
  const queues = storage.all('AWS::SQS::Queue');
  expect(queues).toHaveLength(4);
  for (const { Properties } of queues) {
    expect(Properties.MessageRetentionPeriod).toBe(14 * 24 * 3600);
  }
  const { Properties: requests } = storage.at('ExportRequestsDeadLetters/Queue');
  expect(show(requests.KmsMasterKeyId)).toBe('ExportRequestsKey');
  expect(requests.KmsDataKeyReusePeriodSeconds).toBe(300);
  expect(requests.SqsManagedSseEnabled).toBeUndefined();
  for (const name of ['FileExportsDeadLetters', 'SmallFileExportsDeadLetters', 'DeliveriesDeadLetters']) {
    expect(storage.at(`${name}/Queue`).Properties.SqsManagedSseEnabled).toBe(true);
  }
});

test('what the tool and the local engine look for is in the outputs', () => {
  expect(Object.keys(storage.template.Outputs)).toEqual(
    expect.arrayContaining([
      'ArchiveBucketName',
      'OutboxBucketName',
      'AdminSecretArn',
      'ArchiveKeysSecretArn',
      'VisaDenyListSecretArn',
      'DatabaseClusterArn',
      'DatabaseSecretArn',
      'DatabaseAuditorSecretArn',
      'DatabaseName',
      'DatasetIdPattern',
      'FileIdPattern',
      'ExportRequestsDeadLetterQueueUrl',
      'FileExportsDeadLetterQueueUrl',
      'SmallFileExportsDeadLetterQueueUrl',
      'DeliveriesDeadLetterQueueUrl',
    ]),
  );
});

test('every resource outlives the stack, and none a first deployment that fails', () => {
  const policies = Object.entries(storage.template.Resources).map(
    ([id, { DeletionPolicy, UpdateReplacePolicy }]) => `${id} ${DeletionPolicy} ${UpdateReplacePolicy}`,
  );
  expect(policies.length).toBeGreaterThan(30);
  expect(policies.filter((policy) => !policy.endsWith(' RetainExceptOnCreate Retain'))).toEqual([]);
});

test('nothing locks in a first deployment that fails: protections come after it', async () => {
  const manifest = JSON.parse(readFileSync(join(await assembly(), 'manifest.json'), 'utf8'));
  expect(manifest.artifacts.DataOutStorage.properties.terminationProtection).toBeFalsy();
  // Absent rather than false, so that no later deployment takes the protection away.
  expect(storage.at('Catalogue/Cluster').Properties).not.toHaveProperty('DeletionProtection');
});
