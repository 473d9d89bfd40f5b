import { Duration, RemovalPolicies, Stack, type StackProps } from 'aws-cdk-lib';
import type { Key } from 'aws-cdk-lib/aws-kms';
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { environment } from '../contract/environment.ts';
import type { outputs } from '../contract/outputs.ts';
import type { ServiceFunction } from './functions/service-function.ts';
import { addOutputs } from './outputs.ts';
import { DeadLetters, type WorkQueueName, workQueueNames } from './queues/queues.ts';
import { allowLogs, newKey } from './security/keys.ts';
import { acknowledge } from './security/rules.ts';
import type { Settings } from './settings.ts';
import { ArchiveBodies } from './storage/archive-bodies.ts';
import { Catalogue } from './storage/catalogue.ts';
import { Outbox } from './storage/outbox.ts';
import { ReceiptKeys } from './storage/receipt-keys.ts';
import { OperatorSecret } from './storage/secrets.ts';

/** Ids of EGA have eleven digits; those of tests and of small archives fewer. */
const defaultIdentifiers = { dataset: '^EGAD\\d{1,11}$', file: '^EGAF\\d{1,11}$' };

/** Everything that must survive: bodies, staged containers, catalogue, keys, secrets, and messages that failed. */
export class StorageStack extends Stack {
  readonly archive: ArchiveBodies;
  readonly outbox: Outbox;
  readonly catalogue: Catalogue;
  readonly administrators: OperatorSecret;
  readonly archiveKeys: OperatorSecret;
  /** Of the queue `ExportRequests` and its dead letters. */
  readonly exportRequestsKey: Key;
  /** Of the logs of the service stack, which are kept when that stack goes. Absent: a key of AWS. */
  readonly logKey: Key | undefined;
  readonly receiptKeys: ReceiptKeys;
  readonly visaDenyList: OperatorSecret;
  /** Of each work queue. */
  readonly deadLetters: Readonly<Record<WorkQueueName, DeadLetters>>;

  constructor(scope: Construct, id: string, props: StackProps & { readonly settings: Settings }) {
    super(scope, id, props);
    const { settings } = props;
    // Every resource survives updates and the end of the stack, from the bucket policies to the network. Only a
    // deployment that fails removes the resources that it made, which are empty.
    RemovalPolicies.of(this).retainOnUpdateOrDelete();
    const accessLogs = this.#accessLogs(settings.bucketLogRetentionDays);

    this.archive = new ArchiveBodies(this, 'Archive', {
      existing: settings.archiveBucket,
      others: settings.otherArchiveBuckets ?? [],
      accessLogs,
    });
    const { stage, outboxExpiryDays: expiryDays } = settings;
    this.outbox = new Outbox(this, 'Outbox', { expiryDays, stage, accessLogs });
    this.catalogue = new Catalogue(this, 'Catalogue', {
      database: settings.database,
      directAccess: settings.directAccess !== 'off',
    });
    this.administrators = new OperatorSecret(this, 'Administrators', {
      description: 'Administrators of the export endpoint: names, password hashes and roles',
      emptyDocument: '{"users":[]}',
      keyDescription: "Administrators' credentials",
      variable: environment.adminSecretArn,
    });
    this.archiveKeys = new OperatorSecret(this, 'ArchiveKeys', {
      description: 'Crypt4GH key pairs of the archive',
      emptyDocument: '{"keys":[]}',
      variable: environment.archiveKeysSecretArn,
      existing: settings.archiveKeysSecret,
    });
    const holdsVisas = 'Export requests, which hold visas, and their dead letters';
    this.exportRequestsKey = newKey(this, 'ExportRequestsKey', holdsVisas);
    const keys: { readonly [name in WorkQueueName]?: Key } = { exportRequests: this.exportRequestsKey };
    this.deadLetters = Object.fromEntries(
      workQueueNames.map((source) => [source, new DeadLetters(this, { source, stage, key: keys[source] })]),
    ) as Record<WorkQueueName, DeadLetters>;
    this.receiptKeys = new ReceiptKeys(this, 'ReceiptKeys', { count: settings.receiptKeys ?? 1, stage });
    this.visaDenyList = new OperatorSecret(this, 'VisaDenyList', {
      description: 'Visas, passports and subjects that are denied',
      emptyDocument: '{"denied":[]}',
      variable: environment.visaDenyListSecretArn,
    });

    if (settings.logKeys === 'customer') {
      this.logKey = newKey(this, 'LogKey', 'Logs of the service');
      allowLogs(this.logKey);
    }
    const { dataset, file } = { ...defaultIdentifiers, ...settings.identifiers };
    const values: Partial<Record<keyof typeof outputs, string>> = {
      archiveBucket: this.archive.bucketName,
      outboxBucket: this.outbox.bucketName,
      adminSecretArn: this.administrators.secretArn,
      archiveKeysSecretArn: this.archiveKeys.secretArn,
      visaDenyListSecretArn: this.visaDenyList.secretArn,
      databaseClusterArn: this.catalogue.clusterArn,
      databaseSecretArn: this.catalogue.secretArn,
      databaseAuditorSecretArn: this.catalogue.auditorSecretArn,
      databaseName: this.catalogue.databaseName,
      datasetIdPattern: dataset,
      fileIdPattern: file,
    };
    for (const name of workQueueNames) {
      values[`${name}DeadLetterQueueUrl`] = this.deadLetters[name].queue.queueUrl;
    }
    addOutputs(this, values);
  }

  /** Switch on what the template leaves off: termination protection of this stack, deletion protection of a new cluster. */
  grantProtect(grantee: ServiceFunction): void {
    grantee.allow({ actions: ['cloudformation:UpdateTerminationProtection'], resources: [this.stackId] });
    grantee.configure(environment.storageStackId, this.stackId);
    this.catalogue.grantProtect(grantee);
  }

  /** The only record of a download by presigned URL. */
  #accessLogs(retentionDays: number): IBucket {
    const bucket = new Bucket(this, 'AccessLogs', {
      // S3 delivers access logs to buckets with SSE-S3 only.
      encryption: BucketEncryption.S3_MANAGED,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      lifecycleRules: [{ id: 'expiry', expiration: Duration.days(retentionDays) }],
    });
    acknowledge(bucket, {
      'HIPAA.Security-S3DefaultEncryptionKMS': 'S3 delivers access logs only to a bucket that uses SSE-S3.',
      bucketCopies:
        'S3 writes each log once, under its own name, and no role of the service can change one. They expire after `bucketLogRetentionDays`.',
    });
    return bucket as IBucket;
  }
}
