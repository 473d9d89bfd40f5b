import { CfnOutput, Duration, Fn, Stack, Token } from 'aws-cdk-lib';
import type { Key } from 'aws-cdk-lib/aws-kms';
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { environment } from '../contract/environment.ts';
import type { Grantee } from './service-function.ts';
import type { ExistingBucket } from './settings.ts';

export interface BucketProps {
  /** Makes the customer key of a new bucket. Not called for an existing one. */
  readonly newKey: () => Key;
  /** Receives the access logs of a new bucket. */
  readonly accessLogs: IBucket;
}

/** What every new bucket that holds genomic data has in common. */
export function privateBucket(props: BucketProps, prefix: string) {
  return {
    encryption: BucketEncryption.KMS,
    encryptionKey: props.newKey(),
    bucketKeyEnabled: true,
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    enforceSSL: true,
    minimumTLSVersion: 1.2,
    serverAccessLogsBucket: props.accessLogs,
    serverAccessLogsPrefix: prefix,
  } as const;
}

/**
 * ARN of a bucket for policies of another stack, by an output with a name of our own choice, so that the exception for
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

/** The bucket with the encrypted bodies: a new one, or one that an ingestion pipeline fills already. */
export class ArchiveBodies extends Construct {
  readonly bucketName: string;
  readonly #arn: string;
  readonly #shownArn: string;
  readonly #keyArn: string | undefined;

  constructor(scope: Construct, id: string, props: BucketProps & { readonly existing: ExistingBucket | undefined }) {
    super(scope, id);
    if (props.existing) {
      this.bucketName = props.existing.bucketName;
      this.#arn = Stack.of(this).formatArn({ service: 's3', region: '', account: '', resource: this.bucketName });
      const { partition } = Stack.of(this);
      this.#shownArn = `arn:${Token.isUnresolved(partition) ? '<AWS::Partition>' : partition}:s3:::${this.bucketName}`;
      this.#keyArn = props.existing.keyArn;
      return;
    }
    const bucket = new Bucket(this, 'Bucket', {
      ...privateBucket(props, 'archive/'),
      // An overwritten or deleted body can be brought back: there may be no other copy.
      versioned: true,
      lifecycleRules: [{ id: 'unfinished-uploads', abortIncompleteMultipartUploadAfter: Duration.days(2) }],
    });
    this.bucketName = bucket.bucketName;
    ({ arn: this.#arn, shown: this.#shownArn } = publishedArn(bucket, 'ArchiveBucketArn'));
    this.#keyArn = bucket.encryptionKey?.keyArn;
  }

  /** Read bodies, and sign URLs for them. */
  grantRead(grantee: Grantee): void {
    this.grantHead(grantee);
    if (this.#keyArn) grantee.allow({ actions: ['kms:Decrypt'], resources: [this.#keyArn] });
  }

  /**
   * See size and entity tag of bodies, and that one is missing: without ListBucket S3 answers 403 instead of 404. IAM has
   * one action for HEAD and GET, but S3 needs the key only to give out bytes: of a bucket under a customer key, none are.
   */
  grantHead(grantee: Grantee): void {
    grantee.allow({
      actions: ['s3:GetObject'],
      resources: [`${this.#arn}/*`],
      wildcard: {
        resource: `${this.#shownArn}/*`,
        reason: 'Any archived body may be exported; the catalogue says which.',
      },
    });
    grantee.allow({ actions: ['s3:ListBucket'], resources: [this.#arn] });
    grantee.configure(environment.archiveBucket, this.bucketName);
  }
}
