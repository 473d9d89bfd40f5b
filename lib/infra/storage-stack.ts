import { CfnOutput, Duration, RemovalPolicies, Stack, type StackProps } from 'aws-cdk-lib';
import { Key } from 'aws-cdk-lib/aws-kms';
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { environment } from '../contract/environment.ts';
import { outputs } from '../contract/outputs.ts';
import type { Grantee } from './functions/service-function.ts';
import { DeadLetters, workQueueNames } from './queues/queues.ts';
import { allowLogs } from './security/keys.ts';
import { acknowledge, rules } from './security/rules.ts';
import type { Settings } from './settings.ts';
import { ArchiveBodies } from './storage/archive-bodies.ts';
import { Catalogue } from './storage/catalogue.ts';
import { DataEvents } from './storage/data-events.ts';
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
  /** Of the queue `export-requests` and its dead letters. */
  readonly exportRequestsKey: Key;
  /** Of the logs of the service stack, which are kept when that stack goes. Absent: a key of AWS. */
  readonly logKey: Key | undefined;
  readonly receiptKeys: ReceiptKeys;
  readonly visaDenyList: OperatorSecret;
  readonly exportRequestsDeadLetters: DeadLetters;
  readonly fileExportsDeadLetters: DeadLetters;
  readonly smallFileExportsDeadLetters: DeadLetters;
  readonly deliveriesDeadLetters: DeadLetters;

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
      newKey: () => this.#key('ArchiveBucketKey', 'Bodies in the archive bucket'),
      accessLogs,
      versioned: settings.archiveVersioning !== 'off',
    });
    this.outbox = new Outbox(this, 'Outbox', {
      expiryDays: settings.outboxExpiryDays,
      stage: settings.stage,
      newKey: () => this.#key('OutboxKey', 'Containers in the outbox'),
      accessLogs,
    });
    this.catalogue = new Catalogue(this, 'Catalogue', {
      database: settings.database,
      newKey: () => this.#key('CatalogueKey', 'Catalogue and its credentials'),
      newProxyKey: () =>
        this.#key('CatalogueProxyKey', "Credentials of list and stream's authorizer for the catalogue"),
      newAuditorKey: () => this.#key('CatalogueAuditorKey', 'Credentials of the state of exports for the catalogue'),
      newReaderKey:
        settings.directAccess === 'off'
          ? undefined
          : () => this.#key('CatalogueReaderKey', "Direct access's credentials for the catalogue"),
      newWorkerKey: () => this.#key('CatalogueWorkerKey', "The export's credentials for the catalogue"),
    });
    this.administrators = new OperatorSecret(this, 'Administrators', {
      description: 'Administrators of the export endpoint: names, password hashes and roles',
      emptyDocument: '{"users":[]}',
      newKey: () => this.#key('AdministratorsKey', "Administrators' credentials"),
      variable: environment.adminSecretArn,
    });
    this.archiveKeys = new OperatorSecret(this, 'ArchiveKeys', {
      description: 'Crypt4GH key pairs of the archive',
      emptyDocument: '{"keys":[]}',
      newKey: () => this.#key('ArchiveKeysKey', 'Crypt4GH key pairs of the archive'),
      variable: environment.archiveKeysSecretArn,
      existing: settings.archiveKeysSecret,
    });
    this.exportRequestsKey = this.#key(
      'ExportRequestsKey',
      'Export requests, which hold visas, and their dead letters',
    );
    const sources = workQueueNames(settings.stage);
    this.exportRequestsDeadLetters = new DeadLetters(this, 'ExportRequestsDeadLetters', {
      source: sources.exportRequests,
      key: this.exportRequestsKey,
    });
    this.fileExportsDeadLetters = new DeadLetters(this, 'FileExportsDeadLetters', { source: sources.fileExports });
    this.smallFileExportsDeadLetters = new DeadLetters(this, 'SmallFileExportsDeadLetters', {
      source: sources.smallFileExports,
    });
    this.deliveriesDeadLetters = new DeadLetters(this, 'DeliveriesDeadLetters', { source: sources.deliveries });
    this.receiptKeys = new ReceiptKeys(this, 'ReceiptKeys', {
      count: settings.receiptKeys ?? 1,
      stage: settings.stage,
    });
    this.visaDenyList = new OperatorSecret(this, 'VisaDenyList', {
      description: 'Visas, passports and subjects that are denied',
      emptyDocument: '{"denied":[]}',
      newKey: () => this.#key('VisaDenyListKey', 'Visas, passports and subjects that are denied'),
      variable: environment.visaDenyListSecretArn,
    });

    if (settings.logKeys === 'customer') {
      this.logKey = this.#key('LogKey', 'Logs of the service');
      allowLogs(this.logKey);
    }
    if (settings.dataEvents === 'on') {
      new DataEvents(this, 'DataEvents', {
        bucketArns: [...this.archive.bucketArns, this.outbox.bucketArn],
        key: this.#key('DataEventsKey', 'Record of reads and writes of objects'),
        retentionDays: settings.bucketLogRetentionDays,
        accessLogs,
      });
    }

    this.#output(outputs.archiveBucket, this.archive.bucketName);
    this.#output(outputs.outboxBucket, this.outbox.bucketName);
    this.#output(outputs.adminSecretArn, this.administrators.secretArn);
    this.#output(outputs.archiveKeysSecretArn, this.archiveKeys.secretArn);
    this.#output(outputs.visaDenyListSecretArn, this.visaDenyList.secretArn);
    this.#output(outputs.databaseClusterArn, this.catalogue.clusterArn);
    this.#output(outputs.databaseSecretArn, this.catalogue.secretArn);
    this.#output(outputs.databaseAuditorSecretArn, this.catalogue.auditorSecretArn);
    this.#output(outputs.databaseName, this.catalogue.databaseName);
    const { dataset, file } = { ...defaultIdentifiers, ...settings.identifiers };
    this.#output(outputs.datasetIdPattern, dataset);
    this.#output(outputs.fileIdPattern, file);
    this.#output(outputs.exportRequestsDeadLetterQueueUrl, this.exportRequestsDeadLetters.queue.queueUrl);
    this.#output(outputs.fileExportsDeadLetterQueueUrl, this.fileExportsDeadLetters.queue.queueUrl);
    this.#output(outputs.smallFileExportsDeadLetterQueueUrl, this.smallFileExportsDeadLetters.queue.queueUrl);
    this.#output(outputs.deliveriesDeadLetterQueueUrl, this.deliveriesDeadLetters.queue.queueUrl);
  }

  /** Switch on what the template leaves off: termination protection of this stack, deletion protection of a new cluster. */
  grantProtect(grantee: Grantee): void {
    grantee.allow({ actions: ['cloudformation:UpdateTerminationProtection'], resources: [this.stackId] });
    grantee.configure(environment.storageStackId, this.stackId);
    this.catalogue.grantProtect(grantee);
  }

  #output(key: string, value: string): void {
    new CfnOutput(this, key, { value });
  }

  /** One key a purpose, so that a grant on one asset is never a grant on another. */
  #key(id: string, description: string): Key {
    return new Key(this, id, { description, enableKeyRotation: true });
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
    acknowledge(bucket, 'S3 delivers access logs only to a bucket that uses SSE-S3.', ...rules.bucketKey);
    acknowledge(
      bucket,
      'S3 writes each log once, under a name of its own, and no role of the service can change one. They expire after `bucketLogRetentionDays`.',
      ...rules.bucketVersioning,
      ...rules.bucketReplication,
    );
    return bucket as IBucket;
  }
}
