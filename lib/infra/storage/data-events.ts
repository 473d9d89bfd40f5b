import { AspectPriority, Duration, RemovalPolicies, Stack } from 'aws-cdk-lib';
import { CfnTrail } from 'aws-cdk-lib/aws-cloudtrail';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Key } from 'aws-cdk-lib/aws-kms';
import { Bucket, type IBucket } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { acknowledge } from '../security/rules.ts';
import { privateBucket } from './archive-bodies.ts';

interface DataEventsProps {
  /** ARNs of the buckets whose objects are watched. */
  readonly bucketArns: readonly string[];
  /** Of the records. */
  readonly key: Key;
  /** Days to keep the records. */
  readonly retentionDays: number;
  /** Receives the access logs of the bucket with the records. */
  readonly accessLogs: IBucket;
}

/**
 * A record of each read and write of an object, by CloudTrail. It has no management events, which cost and belong to the trail of
 * the whole account. Its own bucket is not watched: each record would cause the next.
 */
export class DataEvents extends Construct {
  constructor(scope: Construct, id: string, { bucketArns, key, retentionDays, accessLogs }: DataEventsProps) {
    super(scope, id);
    const stack = Stack.of(this);
    const trailName = `${stack.stackName}-DataEvents`;
    const trailArn = stack.formatArn({ service: 'cloudtrail', resource: 'trail', resourceName: trailName });
    const bucket = new Bucket(this, 'Bucket', {
      ...privateBucket(key, accessLogs, 'data-events/'),
      lifecycleRules: [{ id: 'expiry', expiration: Duration.days(retentionDays) }],
    });
    acknowledge(bucket, {
      bucketVersioning:
        'CloudTrail writes each record once, under its own name, and signs a digest of them: a change shows.',
      bucketReplication:
        'The records say who read what. In which other region they may lie is for the operator to decide.',
    });
    const ofThisTrail = { 'aws:SourceArn': trailArn };
    const allow = (actions: string[], resources: string[], conditions: Record<string, string> = {}) =>
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudtrail.amazonaws.com')],
        actions,
        resources,
        conditions: { StringEquals: { ...ofThisTrail, ...conditions } },
      });
    bucket.addToResourcePolicy(allow(['s3:GetBucketAcl'], [bucket.bucketArn]));
    bucket.addToResourcePolicy(
      allow(['s3:PutObject'], [bucket.arnForObjects(`AWSLogs/${stack.account}/*`)], {
        's3:x-amz-acl': 'bucket-owner-full-control',
      }),
    );
    key.addToResourcePolicy(
      allow(['kms:GenerateDataKey*'], ['*'], { 'kms:EncryptionContext:aws:cloudtrail:arn': trailArn }),
    );
    key.addToResourcePolicy(allow(['kms:DescribeKey'], ['*']));
    const trail = new CfnTrail(this, 'Trail', {
      trailName,
      isLogging: true,
      s3BucketName: bucket.bucketName,
      kmsKeyId: key.keyArn,
      enableLogFileValidation: true,
      includeGlobalServiceEvents: false,
      isMultiRegionTrail: false,
      advancedEventSelectors: [
        {
          name: 'Objects of the archive and the outbox',
          fieldSelectors: [
            { field: 'eventCategory', equalTo: ['Data'] },
            { field: 'resources.type', equalTo: ['AWS::S3::Object'] },
            { field: 'resources.ARN', startsWith: bucketArns.map((arn) => `${arn}/`) },
          ],
        },
      ],
    });
    acknowledge(trail, {
      trailLogGroup:
        'A log group would keep a second copy of millions of records. The bucket can be searched with Amazon Athena.',
    });
    if (bucket.policy) trail.node.addDependency(bucket.policy);
    // Off means off: a trail that were kept would continue. The records are kept.
    RemovalPolicies.of(trail).destroy({ priority: AspectPriority.MUTATING + 1 });
  }
}
