import { Duration } from 'aws-cdk-lib';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { directExpiryDays, directPrefix } from '../contract/direct-key.ts';
import { environment } from '../contract/environment.ts';
import { type BucketProps, privateBucket, publishedArn } from './archive-bodies.ts';
import type { Grantee } from './service-function.ts';

export interface OutboxProps extends BucketProps {
  /** Days after which a staged container is deleted. */
  readonly expiryDays: number;
}

/** The bucket with the staged containers. Not versioned: what has expired must be gone. */
export class Outbox extends Construct {
  readonly bucketName: string;
  readonly #arn: string;
  readonly #shownArn: string;
  readonly #keyArn: string;
  readonly #expiryDays: number;

  constructor(scope: Construct, id: string, props: OutboxProps) {
    super(scope, id);
    const shared = privateBucket(props, 'outbox/');
    const bucket = new Bucket(this, 'Bucket', {
      ...shared,
      lifecycleRules: [
        { id: 'expiry', expiration: Duration.days(props.expiryDays) },
        { id: 'direct', prefix: directPrefix, expiration: Duration.days(directExpiryDays) },
        { id: 'unfinished-uploads', abortIncompleteMultipartUploadAfter: Duration.days(2) },
      ],
    });
    this.bucketName = bucket.bucketName;
    ({ arn: this.#arn, shown: this.#shownArn } = publishedArn(bucket, 'OutboxBucketArn'));
    this.#keyArn = shared.encryptionKey.keyArn;
    this.#expiryDays = props.expiryDays;
  }

  /** List one recipient's part. The prefix must begin with a whole recipient hash, so nobody's code lists across recipients. */
  grantList(grantee: Grantee): void {
    grantee.allow({
      actions: ['s3:ListBucket'],
      resources: [this.#arn],
      conditions: { StringLike: { 's3:prefix': `${'?'.repeat(64)}/*` } },
    });
    grantee.configure(environment.outboxBucket, this.bucketName);
    grantee.configure(environment.outboxExpiryDays, String(this.#expiryDays));
  }

  /**
   * Find one container, read it and sign URLs for it: S3 checks the signer's permissions (and use of the key) when the
   * URL is used. ListBucket makes S3 answer 404 instead of 403 for a container that is not there.
   */
  grantRead(grantee: Grantee): void {
    grantee.allow({ actions: ['s3:GetObject'], resources: [`${this.#arn}/*`], wildcard: this.#anyRecipient });
    grantee.allow({ actions: ['s3:ListBucket'], resources: [this.#arn] });
    grantee.allow({ actions: ['kms:Decrypt'], resources: [this.#keyArn] });
    grantee.configure(environment.outboxBucket, this.bucketName);
  }

  /** Write containers, also by multipart upload and copy: S3 decrypts finished parts, hence kms:Decrypt. */
  grantWrite(grantee: Grantee): void {
    grantee.allow({
      actions: ['s3:PutObject', 's3:GetObject', 's3:AbortMultipartUpload'],
      resources: [`${this.#arn}/*`],
      wildcard: this.#anyRecipient,
    });
    grantee.allow({ actions: ['s3:ListBucket', 's3:ListBucketMultipartUploads'], resources: [this.#arn] });
    grantee.allow({ actions: ['kms:GenerateDataKey', 'kms:Decrypt'], resources: [this.#keyArn] });
    grantee.configure(environment.outboxBucket, this.bucketName);
  }

  /**
   * Write containers of direct access and sign URLs for them, in their part of the bucket only. ListBucket makes S3
   * answer 404 instead of 403 for one that is not there yet.
   */
  grantDirect(grantee: Grantee): void {
    grantee.allow({
      actions: ['s3:PutObject', 's3:GetObject', 's3:AbortMultipartUpload'],
      resources: [`${this.#arn}/${directPrefix}*`],
      wildcard: {
        resource: `${this.#shownArn}/${directPrefix}*`,
        reason: 'Which containers are asked for is not known at deployment; nothing else is under this prefix.',
      },
    });
    grantee.allow({ actions: ['s3:ListBucket', 's3:ListBucketMultipartUploads'], resources: [this.#arn] });
    grantee.allow({ actions: ['kms:GenerateDataKey', 'kms:Decrypt'], resources: [this.#keyArn] });
    grantee.configure(environment.outboxBucket, this.bucketName);
  }

  get #anyRecipient() {
    return {
      resource: `${this.#shownArn}/*`,
      reason: 'Recipients are not known at deployment; each invocation works under the prefix of a verified identity.',
    };
  }
}
