import { Duration } from 'aws-cdk-lib';
import { Bucket, type IBucket } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { receiptSuffix } from '../../contract/delivery.ts';
import { directExpiryDays, directPrefix } from '../../contract/direct-key.ts';
import { environment } from '../../contract/environment.ts';
import type { Permission, ServiceFunction } from '../functions/service-function.ts';
import { allowKey, type KeyUse, newKey } from '../security/keys.ts';
import { onlyBy } from '../security/only-by.ts';
import { acknowledge } from '../security/rules.ts';
import { privateBucket, publishedArn } from './archive-bodies.ts';

interface OutboxProps {
  /** Receives the access logs. */
  readonly accessLogs: IBucket;
  /** Days after which a staged container is deleted. */
  readonly expiryDays: number;
  readonly stage: string | undefined;
}

/**
 * Keys of one recipient's part, for policies: a whole recipient hash and a slash. No key of the direct API has a slash
 * in that place, so this pattern matches none of them.
 */
const ofARecipient = `${'?'.repeat(64)}/*`;
const containers = `${ofARecipient}.c4gh`;
const receipts = `${ofARecipient}${receiptSuffix}`;
const ofDirectAccess = `${directPrefix}*`;
/** The functions that write, each in its own part. Every other principal is refused there. */
const writers = [
  ['StageFile', containers],
  ['SettleDelivery', receipts],
  ['DirectFile', ofDirectAccess],
] as const;

/** The bucket with the staged containers and the delivery receipts. Not versioned: an expired container must be gone. */
export class Outbox extends Construct {
  readonly bucketName: string;
  readonly #arn: string;
  readonly #shownArn: string;
  readonly #keyArn: string;
  readonly #expiryDays: number;

  constructor(scope: Construct, id: string, props: OutboxProps) {
    super(scope, id);
    const key = newKey(this, 'OutboxKey', 'Containers in the outbox');
    const bucket = new Bucket(this, 'Bucket', {
      ...privateBucket(key, props.accessLogs, 'outbox/'),
      bucketKeyEnabled: true,
      lifecycleRules: [
        { id: 'expiry', expiration: Duration.days(props.expiryDays) },
        { id: 'direct', prefix: directPrefix, expiration: Duration.days(directExpiryDays) },
        { id: 'unfinished-uploads', abortIncompleteMultipartUploadAfter: Duration.days(2) },
      ],
    });
    acknowledge(bucket, {
      bucketCopies:
        'Containers are copies for one recipient, which an export makes again. An expired or withdrawn one must be gone, with all its versions and replicas.',
    });
    for (const [functionName, keys] of writers) {
      const [actions, resources] = [['s3:PutObject', 's3:ReplicateObject'], [bucket.arnForObjects(keys)]];
      bucket.addToResourcePolicy(onlyBy(this, { stage: props.stage, functionName, actions, resources }));
    }
    this.bucketName = bucket.bucketName;
    ({ arn: this.#arn, shown: this.#shownArn } = publishedArn(bucket, 'OutboxBucketArn'));
    this.#keyArn = key.keyArn;
    this.#expiryDays = props.expiryDays;
  }

  /**
   * List one recipient's part. The prefix must begin with a whole recipient hash, so that no function can list across
   * recipients.
   */
  grantList(grantee: ServiceFunction): void {
    this.#allowListing(grantee, ofARecipient);
    grantee.configure(environment.outboxBucket, this.bucketName);
    grantee.configure(environment.outboxExpiryDays, String(this.#expiryDays));
  }

  /**
   * Find one container, read it and sign URLs for it: S3 checks the signer's permissions (and use of the key) when the
   * URL is used.
   */
  grantRead(grantee: ServiceFunction): void {
    grantee.allow({ actions: ['s3:GetObject'], ...this.#objects(ofARecipient) });
    this.#allowListing(grantee, ofARecipient);
    this.#allowKey(grantee, ['kms:Decrypt']);
    grantee.configure(environment.outboxBucket, this.bucketName);
  }

  /**
   * Write containers. A delivery that continues an upload asks for its parts, and a container whose row was withdrawn meanwhile is deleted
   * again.
   */
  grantWrite(grantee: ServiceFunction): void {
    this.#allowUploads(grantee, containers);
    grantee.allow({ actions: ['s3:ListMultipartUploadParts', 's3:DeleteObject'], ...this.#objects(containers) });
  }

  /** Write delivery receipts, and no container: for the one function that signs. */
  grantWriteReceipts(grantee: ServiceFunction): void {
    this.#allowWriting(grantee, receipts);
  }

  /** Write containers of the direct API and sign URLs for them, in their part of the bucket only. */
  grantDirect(grantee: ServiceFunction): void {
    this.#allowUploads(grantee, ofDirectAccess);
  }

  /**
   * Find the containers of any recipient and of the direct API, and what their metadata says. S3 asks for s3:GetObject for
   * that; without the key, no byte of a container can be read. With `deletes`: also delete them, each only as it was found.
   */
  grantWithdraw(grantee: ServiceFunction, { deletes }: { readonly deletes: boolean }): void {
    for (const keys of [ofARecipient, ofDirectAccess]) {
      const actions = ['s3:GetObject', ...(deletes ? ['s3:DeleteObject'] : [])];
      grantee.allow({ actions, ...this.#objects(keys) });
      this.#allowListing(grantee, keys);
    }
    grantee.configure(environment.outboxBucket, this.bucketName);
    grantee.configure(environment.outboxExpiryDays, String(this.#expiryDays));
  }

  /** Write objects, and look at those that exist. */
  #allowWriting(grantee: ServiceFunction, keys: string): void {
    grantee.allow({ actions: ['s3:PutObject', 's3:GetObject'], ...this.#objects(keys) });
    this.#allowListing(grantee, keys);
    this.#allowKey(grantee, ['kms:GenerateDataKey']);
    grantee.configure(environment.outboxBucket, this.bucketName);
  }

  /** The same, also by multipart upload and copy: S3 decrypts finished parts, hence kms:Decrypt. */
  #allowUploads(grantee: ServiceFunction, keys: string): void {
    this.#allowWriting(grantee, keys);
    grantee.allow({ actions: ['s3:AbortMultipartUpload'], ...this.#objects(keys) });
    this.#allowKey(grantee, ['kms:Decrypt']);
  }

  /**
   * ListBucket also makes S3 answer 404 instead of 403 for a missing container: S3 then compares the requested key with
   * the prefix.
   */
  #allowListing(grantee: ServiceFunction, keys: string): void {
    const conditions = { StringLike: { 's3:prefix': keys } };
    grantee.allow({ actions: ['s3:ListBucket'], resources: [this.#arn], conditions });
  }

  #allowKey(grantee: ServiceFunction, actions: KeyUse['actions']): void {
    allowKey(grantee, this, { service: 's3', actions, keyArn: this.#keyArn });
  }

  #objects(keys: string): Pick<Permission, 'resources' | 'wildcard'> {
    return {
      resources: [`${this.#arn}/${keys}`],
      wildcard: {
        resource: `${this.#shownArn}/${keys}`,
        reason:
          'Neither recipients nor containers are known at deployment; each invocation works under the prefix of a verified identity, or in the part of the direct API.',
      },
    };
  }
}
