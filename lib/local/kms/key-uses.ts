import type { AwsService } from '../endpoint/errors.ts';
import type { Permission } from '../iam/policy.ts';
import type { Deployment } from '../template/deployment.ts';
import { list, record } from '../template/template.ts';

/** The permissions on customer keys that a call needs, given those on the resources that these keys encrypt. */
export type KeyUses = (
  service: AwsService,
  action: string,
  permissions: readonly Permission[],
) => readonly Permission[];

/**
 * Uses of the key of the bucket that an API action of S3 is about (S3 API reference, permissions of each action). One table for
 * actions of the API, because the permission `s3:GetObject` alone does not tell whether bytes are read.
 */
const usesOfS3: Readonly<Record<string, readonly string[]>> = {
  GetObject: ['Decrypt'],
  PutObject: ['GenerateDataKey'],
  CopyObject: ['GenerateDataKey'],
  CreateMultipartUpload: ['GenerateDataKey', 'Decrypt'],
  UploadPart: ['GenerateDataKey', 'Decrypt'],
  UploadPartCopy: ['GenerateDataKey', 'Decrypt'],
  ListParts: ['Decrypt'],
  CompleteMultipartUpload: ['Decrypt'],
};

/** The actions that read the source of a copy, which is their second permission. */
const copies = ['CopyObject', 'UploadPartCopy'];

/** Uses of the key of the queue or secret that a permission is about. SQS guide, key management; Secrets Manager guide, KMS. */
const uses: Readonly<Record<string, readonly string[]>> = {
  'sqs:SendMessage': ['GenerateDataKey', 'Decrypt'],
  'sqs:ReceiveMessage': ['Decrypt'],
  'secretsmanager:GetSecretValue': ['Decrypt'],
  'secretsmanager:PutSecretValue': ['GenerateDataKey', 'Decrypt'],
};

/** The condition key that holds the encryption context with which a service uses a key. */
const contextKeys: Readonly<Record<string, string>> = {
  s3: 'kms:encryptioncontext:aws:s3:arn',
  sqs: 'kms:encryptioncontext:aws:sqs:arn',
  secretsmanager: 'kms:encryptioncontext:secretarn',
};

/**
 * The customer keys of the template's buckets, queues and secrets. Nothing is encrypted on this machine, but a role
 * that may not use a key is refused as on AWS.
 *
 * @param ofExistingBuckets ARNs of the keys of buckets outside the template, by bucket name
 */
export function keyUses(deployment: Deployment, ofExistingBuckets: Readonly<Record<string, string>> = {}): KeyUses {
  const keys = new Map(Object.entries(ofExistingBuckets).map(([name, key]) => [`arn:aws:s3:::${name}`, key]));
  const arnOf = (key: unknown) =>
    deployment
      .resources('AWS::KMS::Key')
      .find(({ id }) => id === key)
      ?.attribute('Arn') ?? String(key);
  const add = (arn: string, key: unknown) => key !== undefined && keys.set(arn, arnOf(key));
  for (const bucket of deployment.resources('AWS::S3::Bucket')) {
    const [rule] = list(record(bucket.property('BucketEncryption')).ServerSideEncryptionConfiguration);
    add(bucket.attribute('Arn'), record(record(rule).ServerSideEncryptionByDefault).KMSMasterKeyID);
  }
  for (const queue of deployment.resources('AWS::SQS::Queue')) {
    add(queue.attribute('Arn'), queue.property('KmsMasterKeyId'));
  }
  for (const secret of deployment.resources('AWS::SecretsManager::Secret')) add(secret.id, secret.property('KmsKeyId'));
  for (const cluster of deployment.resources('AWS::RDS::DBCluster')) {
    const { KmsKeyId: key } = record(cluster.property('MasterUserSecret'));
    if (key !== undefined) add(cluster.attribute('MasterUserSecret.SecretArn'), key);
  }

  const needed = ({ action, resource }: Permission, actions: readonly string[]): Permission[] => {
    const [service = ''] = action.split(':');
    // Of S3, with bucket keys: the context is the bucket. It is the ARN of the whole resource otherwise.
    const sealed = resource.split('/')[0] ?? '';
    const key = keys.get(sealed);
    if (key === undefined) return [];
    const context = {
      'kms:viaservice': `${service}.${deployment.region}.amazonaws.com`,
      [contextKeys[service] ?? '']: sealed,
    };
    return actions.map((use) => ({ action: `kms:${use}`, resource: key, context }));
  };
  return (service, action, permissions) =>
    permissions.flatMap((permission, at) => {
      if (service !== 's3') return needed(permission, uses[permission.action] ?? []);
      if (at === 0) return needed(permission, usesOfS3[action] ?? []);
      return needed(permission, at === 1 && copies.includes(action) ? ['Decrypt'] : []);
    });
}
