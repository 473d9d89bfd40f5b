import { describe, expect, it } from 'vitest';
import { keyUses } from '../../../../lib/local/kms/key-uses.ts';
import { deploy } from '../../../../lib/local/template/deployment.ts';

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
const deployment = deploy(
  [
    {
      name: 'S',
      region: undefined,
      assets: new Map(),
      template: {
        Resources: {
          One: { Type: 'AWS::KMS::Key' },
          Two: { Type: 'AWS::KMS::Key' },
          Source: bucket(key('One')),
          Target: bucket(key('Two')),
          Plain: { Type: 'AWS::S3::Bucket' },
          Sealed: { Type: 'AWS::SQS::Queue', Properties: { KmsMasterKeyId: key('One') } },
          Own: { Type: 'AWS::SQS::Queue' },
        },
      },
    },
  ],
  { queueUrl: (name) => `http://local/0/${name}`, apiUrl: (id) => `http://api/${id}` },
);
const arnOf = (type: string, id: string) =>
  deployment
    .resources(type)
    .find(({ logicalId }) => logicalId === id)!
    .attribute('Arn');
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
    ['not to tell a size', s3('HeadObject', 'Source'), []],
    ['not of a bucket without one', s3('GetObject', 'Plain'), []],
  ])('%s', (_, needed, expected) => {
    expect(needed).toEqual(expected);
  });
});

describe('a call of SQS needs the key', () => {
  const sqs = (action: string, id: string) =>
    uses('sqs', action, [{ action: 'sqs:any', resource: arnOf('AWS::SQS::Queue', id) }]);

  it('to send and to receive, and uses it through SQS', () => {
    expect(sqs('SendMessageBatch', 'Sealed').map(({ action }) => action)).toEqual([
      'kms:GenerateDataKey',
      'kms:Decrypt',
    ]);
    expect(sqs('ReceiveMessage', 'Sealed').map(({ action }) => action)).toEqual(['kms:Decrypt']);
    expect(sqs('ReceiveMessage', 'Sealed')[0]?.context).toEqual({ 'kms:viaservice': 'sqs.eu-north-1.amazonaws.com' });
  });

  it('not to delete, nor of a queue without one', () => {
    expect([...sqs('DeleteMessage', 'Sealed'), ...sqs('SendMessage', 'Own')]).toEqual([]);
  });
});
