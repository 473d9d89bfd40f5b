import { environment } from '../../contract/environment.ts';
import type { Deployment } from '../template/deployment.ts';
import { list, type Resource, record } from '../template/template.ts';
import type { LocalS3 } from './local-s3.ts';

/**
 * Make the buckets of the template, or bring those of an earlier run to what the template says now; and those with archived
 * bodies that the operator had before.
 *
 * @param existingKeys customer keys of the operator's own buckets, by bucket name
 */
export function createBuckets(
  deployment: Deployment,
  s3: LocalS3,
  existingKeys: Readonly<Record<string, string>> = {},
): void {
  for (const name of deployment.resources('AWS::Lambda::Function').flatMap(archiveBuckets)) {
    s3.createBucket(name, name in existingKeys);
  }
  for (const bucket of deployment.resources('AWS::S3::Bucket')) {
    s3.createBucket(bucket.id, isUnderKey(bucket));
  }
}

function archiveBuckets(definition: Resource): readonly string[] {
  const variables = record(record(definition.property('Environment')).Variables);
  const names = variables[environment.archiveBuckets];
  return names === undefined ? [] : String(names).split(',');
}

function isUnderKey(bucket: Resource): boolean {
  const { ServerSideEncryptionConfiguration: rules } = record(bucket.property('BucketEncryption'));
  return list(rules).some((rule) => {
    const { SSEAlgorithm: algorithm } = record(record(rule).ServerSideEncryptionByDefault);
    return algorithm === 'aws:kms';
  });
}
