import { describe, expect, it } from 'vitest';
import { keyUses } from '../../../../lib/local/kms/key-uses.ts';
import { arnIn, deployed } from '../../../helpers/deployed.ts';

const key = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
const bucket = (KMSMasterKeyID: unknown) => ({
  Type: 'AWS::S3::Bucket',
  Properties: {
    BucketEncryption: {
      ServerSideEncryptionConfiguration: [
        { ServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID } },
      ],
    },
  },
});
const deployment = deployed({
  One: { Type: 'AWS::KMS::Key' },
  Two: { Type: 'AWS::KMS::Key' },
  Source: bucket(key('One')),
  Target: bucket(key('Two')),
  ById: bucket({ Ref: 'Two' }),
  Plain: { Type: 'AWS::S3::Bucket' },
  Sealed: { Type: 'AWS::SQS::Queue', Properties: { KmsMasterKeyId: key('One') } },
  Own: { Type: 'AWS::SQS::Queue' },
  Secret: { Type: 'AWS::SecretsManager::Secret', Properties: { KmsKeyId: key('Two') } },
  Cluster: {
    Type: 'AWS::RDS::DBCluster',
    Properties: { ManageMasterUserPassword: true, MasterUserSecret: { KmsKeyId: key('One') } },
  },
});
const arnOf = (type: string, id: string) => arnIn(deployment, type, id);
const secretArn = deployment.resources('AWS::SecretsManager::Secret')[0]?.id ?? '';
const [cluster] = deployment.resources('AWS::RDS::DBCluster');
const masterArn = cluster?.attribute('MasterUserSecret.SecretArn') ?? '';
const uses = keyUses(deployment);
const shown = (...[service, action, permissions]: Parameters<typeof uses>) =>
  uses(service, action, permissions).map((use) => `${use.action} ${/S-(\w+)-/.exec(use.resource)?.[1]}`);

describe('a call of S3 needs the key', () => {
  const s3 = (action: string, ...ids: string[]) =>
    shown(
      's3',
      action,
      ids.map((id) => ({ action: 's3:any', resource: `${arnOf('AWS::S3::Bucket', id)}/a/b` })),
    );

  it.each([
    ['to give out bytes', s3('GetObject', 'Source'), ['kms:Decrypt One']],
    ['to write', s3('PutObject', 'Target'), ['kms:GenerateDataKey Two']],
    [
      'of both sides to copy',
      s3('UploadPartCopy', 'Target', 'Source'),
      ['GenerateDataKey Two', 'Decrypt Two', 'Decrypt One'].map((use) => `kms:${use}`),
    ],
    ['to list parts', s3('ListParts', 'Source'), ['kms:Decrypt One']],
    ['that the template names by its id', s3('GetObject', 'ById'), ['kms:Decrypt Two']],
    ['not to tell a size', s3('HeadObject', 'Source'), []],
    ['not to check whether an object is still the one', s3('DeleteObject', 'Target', 'Target'), []],
    ['not of a bucket without one', s3('GetObject', 'Plain'), []],
  ])('%s', (_, needed, expected) => {
    expect(needed).toEqual(expected);
  });
});

describe('a call of SQS needs the key', () => {
  const sqs = (action: string, id: string) =>
    uses('sqs', action, [{ action: `sqs:${action.replace(/Batch$/, '')}`, resource: arnOf('AWS::SQS::Queue', id) }]);

  it('to send and to receive, and uses it through SQS', () => {
    expect(sqs('SendMessageBatch', 'Sealed').map(({ action }) => action)).toEqual([
      'kms:GenerateDataKey',
      'kms:Decrypt',
    ]);
    expect(sqs('ReceiveMessage', 'Sealed').map(({ action }) => action)).toEqual(['kms:Decrypt']);
    expect(sqs('ReceiveMessage', 'Sealed')[0]?.context).toEqual({
      'kms:viaservice': 'sqs.eu-north-1.amazonaws.com',
      'kms:encryptioncontext:aws:sqs:arn': arnOf('AWS::SQS::Queue', 'Sealed'),
    });
  });
});

describe('a call about a secret needs the key', () => {
  const get = (resource: string) => ({ action: 'secretsmanager:GetSecretValue', resource });

  it('to read and to write, with the secret as encryption context', () => {
    const [read, ...others] = uses('secretsmanager', 'GetSecretValue', [get(secretArn)]);
    expect([read?.action, read?.resource, others]).toEqual(['kms:Decrypt', arnOf('AWS::KMS::Key', 'Two'), []]);
    expect(read?.context).toEqual({
      'kms:viaservice': 'secretsmanager.eu-north-1.amazonaws.com',
      'kms:encryptioncontext:secretarn': secretArn,
    });
    const put = { action: 'secretsmanager:PutSecretValue', resource: secretArn };
    expect(shown('secretsmanager', 'PutSecretValue', [put])).toEqual(['kms:GenerateDataKey Two', 'kms:Decrypt Two']);
  });

  it('also if the Data API reads it for its caller, and if RDS keeps it', () => {
    const statement = { action: 'rds-data:ExecuteStatement', resource: cluster?.attribute('DBClusterArn') ?? '' };
    expect(shown('rds-data', 'ExecuteStatement', [statement, get(secretArn)])).toEqual(['kms:Decrypt Two']);
    const [read] = uses('rds-data', 'ExecuteStatement', [statement, get(masterArn)]);
    expect([read?.resource, read?.context?.['kms:viaservice']]).toEqual([
      arnOf('AWS::KMS::Key', 'One'),
      'secretsmanager.eu-north-1.amazonaws.com',
    ]);
  });
});
