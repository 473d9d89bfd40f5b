import { CfnOutput, Duration, Fn, Stack, Token } from 'aws-cdk-lib';
import type { Key } from 'aws-cdk-lib/aws-kms';
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { environment } from '../../contract/environment.ts';
import type { ServiceFunction } from '../functions/service-function.ts';
import { allowKey, newKey } from '../security/keys.ts';
import { acknowledge } from '../security/rules.ts';
import type { ExistingBucket } from '../settings.ts';

/**
 * Settings of every new bucket with genomic data.
 *
 * @param prefix of its access logs
 */
export function privateBucket(encryptionKey: Key, accessLogs: IBucket, prefix: string) {
  return {
    encryption: BucketEncryption.KMS,
    encryptionKey,
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    enforceSSL: true,
    minimumTLSVersion: 1.2,
    serverAccessLogsBucket: accessLogs,
    serverAccessLogsPrefix: prefix,
  } as const;
}

/**
 * ARN of a bucket for policies of another stack, by an output with a name that we choose, so that the exception for
 * `ARN/*` can name it.
 */
export function publishedArn(bucket: Bucket, name: string): { arn: string; shown: string } {
  const stack = Stack.of(bucket);
  new CfnOutput(stack, name, { value: bucket.bucketArn });
  return {
    arn: Fn.getStackOutput(stack.stackName, name),
    shown: JSON.stringify({ 'Fn::GetStackOutput': { StackName: stack.stackName, OutputName: name } }),
  };
}

interface ArchiveBodiesProps {
  /** Receives the access logs of a new bucket. */
  readonly accessLogs: IBucket;
  /** @default - a new bucket */
  readonly existing: ExistingBucket | undefined;
  readonly others: readonly ExistingBucket[];
}

interface BodyBucket {
  readonly name: string;
  readonly arn: string;
  /** The ARN as the exception for `ARN/*` names it. */
  readonly shownArn: string;
  readonly keyArn: string | undefined;
}

/** The buckets with the encrypted bodies: a new one, or those that an ingestion pipeline fills already. */
export class ArchiveBodies extends Construct {
  /** The bucket of bodies whose catalogue row names no bucket. */
  readonly bucketName: string;
  readonly #buckets: readonly BodyBucket[];

  constructor(scope: Construct, id: string, props: ArchiveBodiesProps) {
    super(scope, id);
    const first = props.existing ? this.#existing(props.existing) : this.#make(props);
    this.bucketName = first.name;
    this.#buckets = [first, ...props.others.map((bucket) => this.#existing(bucket))];
  }

  /** Read bodies, sign URLs for them, and see whether one is missing: without ListBucket S3 answers 403 instead of 404. */
  grantRead(grantee: ServiceFunction): void {
    for (const { arn, shownArn, keyArn } of this.#buckets) {
      grantee.allow({
        actions: ['s3:GetObject'],
        resources: [`${arn}/*`],
        wildcard: {
          resource: `${shownArn}/*`,
          reason: 'Any archived body may be exported; the catalogue says which.',
        },
      });
      grantee.allow({ actions: ['s3:ListBucket'], resources: [arn] });
      allowKey(grantee, this, { service: 's3', actions: ['kms:Decrypt'], keyArn });
    }
    grantee.configure(environment.archiveBuckets, this.#buckets.map(({ name }) => name).join(','));
  }

  #existing({ bucketName, keyArn }: ExistingBucket): BodyBucket {
    const { partition } = Stack.of(this);
    const shownPartition = Token.isUnresolved(partition) ? '<AWS::Partition>' : partition;
    const arn = Stack.of(this).formatArn({ service: 's3', region: '', account: '', resource: bucketName });
    return { name: bucketName, arn, shownArn: `arn:${shownPartition}:s3:::${bucketName}`, keyArn };
  }

  #make(props: ArchiveBodiesProps): BodyBucket {
    const bucket = new Bucket(this, 'Bucket', {
      ...privateBucket(newKey(this, 'ArchiveBucketKey', 'Bodies in the archive bucket'), props.accessLogs, 'archive/'),
      bucketKeyEnabled: true,
      // An overwritten or deleted body can be brought back: there may be no other copy.
      versioned: true,
      lifecycleRules: [{ id: 'unfinished-uploads', abortIncompleteMultipartUploadAfter: Duration.days(2) }],
    });
    acknowledge(bucket, {
      'HIPAA.Security-S3BucketReplicationEnabled':
        'A replica doubles the cost of the archive, and in which other region genomes may lie is for the operator to decide.',
    });
    const { arn, shown: shownArn } = publishedArn(bucket, 'ArchiveBucketArn');
    return { name: bucket.bucketName, arn, shownArn, keyArn: bucket.encryptionKey?.keyArn };
  }
}
