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
 * Uses of the key of the resource that an API action is about. S3 user guide, multipart uploads and SSE-KMS; SQS guide,
 * key management.
 */
const uses: Readonly<Record<string, readonly string[]>> = {
  GetObject: ['Decrypt'],
  PutObject: ['GenerateDataKey'],
  CreateMultipartUpload: ['GenerateDataKey', 'Decrypt'],
  UploadPart: ['GenerateDataKey', 'Decrypt'],
  UploadPartCopy: ['GenerateDataKey', 'Decrypt'],
  CompleteMultipartUpload: ['Decrypt'],
  SendMessage: ['GenerateDataKey', 'Decrypt'],
  SendMessageBatch: ['GenerateDataKey', 'Decrypt'],
  ReceiveMessage: ['Decrypt'],
  GetSecretValue: ['Decrypt'],
  PutSecretValue: ['GenerateDataKey', 'Decrypt'],
};

/**
 * The customer keys of the template's buckets, queues and secrets. Nothing is encrypted on this machine, but a role
 * that may not use a key is refused as on AWS.
 */
export function keyUses(deployment: Deployment): KeyUses {
  const keys = new Map<string, string>();
  const add = (arn: string, key: unknown) => key !== undefined && keys.set(arn, String(key));
  for (const bucket of deployment.resources('AWS::S3::Bucket')) {
    const [rule] = list(record(bucket.property('BucketEncryption')).ServerSideEncryptionConfiguration);
    add(bucket.attribute('Arn'), record(record(rule).ServerSideEncryptionByDefault).KMSMasterKeyID);
  }
  for (const queue of deployment.resources('AWS::SQS::Queue')) {
    add(queue.attribute('Arn'), queue.property('KmsMasterKeyId'));
  }
  for (const secret of deployment.resources('AWS::SecretsManager::Secret')) add(secret.id, secret.property('KmsKeyId'));

  return (service, action, permissions) => {
    const context = { 'kms:viaservice': `${service}.${deployment.region}.amazonaws.com` };
    const [own, source] = permissions;
    const needed = (permission: Permission | undefined, actions: readonly string[] = []) => {
      const resource = keys.get(permission?.resource.split('/')[0] ?? '');
      return resource === undefined ? [] : actions.map((use) => ({ action: `kms:${use}`, resource, context }));
    };
    // The second permission of a copy is the one to read its source.
    return [...needed(own, uses[action]), ...needed(source, action === 'UploadPartCopy' ? ['Decrypt'] : [])];
  };
}
