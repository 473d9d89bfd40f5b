import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { environment } from '../contract/environment.ts';
import { ServiceFunction, type ServiceFunctionProps } from './service-function.ts';
import type { Settings } from './settings.ts';
import type { StorageStack } from './storage-stack.ts';

/** API Gateway gives up after 29 seconds. */
const apiTimeout = Duration.seconds(29);

/**
 * A streamed reply may take longer. 200 MB take 100 seconds at the 2 MB/s that Lambda allows after the first 6 MB. API
 * Gateway waits up to five minutes for the first byte; meanwhile S3 assembles the container of a large file.
 */
const streamTimeout = Duration.minutes(5);

/** All functions of the service, with the grants of each on the storage stack. */
export class Functions extends Construct {
  readonly authorizeAdmin: ServiceFunction;
  readonly authorizeOutbox: ServiceFunction;
  readonly exportRequest: ServiceFunction;
  readonly files: ServiceFunction;
  readonly stream: ServiceFunction;
  readonly jwks: ServiceFunction;
  readonly serviceInfo: ServiceFunction;
  readonly authorizeVisa: ServiceFunction;
  readonly datasets: ServiceFunction;
  readonly datasetFiles: ServiceFunction;
  readonly directFile: ServiceFunction;
  readonly drs: ServiceFunction;
  readonly describeFile: ServiceFunction;
  readonly consumeExport: ServiceFunction;
  readonly stageFile: ServiceFunction;
  readonly settleDelivery: ServiceFunction;
  readonly migrate: ServiceFunction;
  readonly protect: ServiceFunction;

  constructor(scope: Construct, id: string, props: { readonly settings: Settings; readonly storage: StorageStack }) {
    super(scope, id);
    const { settings, storage } = props;
    const make = (name: string, options: Omit<ServiceFunctionProps, 'logRetentionDays'>) => {
      const made = new ServiceFunction(this, name, { ...options, logRetentionDays: settings.logRetentionDays });
      if (options.verifiesVisas) storage.visaDenyList.grantRead(made);
      return made;
    };

    // Password hashes are made to be slow: the functions that check them get more of a processor.
    this.authorizeAdmin = make('AuthorizeAdmin', {
      entry: 'proxy/authorize-admin.ts',
      description: 'Lets administrators with the role ADMIN export',
      memoryMegabytes: 1024,
      timeout: Duration.seconds(10),
    });
    storage.administrators.grantRead(this.authorizeAdmin);

    this.authorizeOutbox = make('AuthorizeOutbox', {
      entry: 'proxy/authorize-outbox.ts',
      description: "Lets visas with the archive's credentials through to the outbox",
      memoryMegabytes: 1024,
      timeout: Duration.seconds(10),
      verifiesVisas: true,
    });
    storage.catalogue.grantReadArchiveUsers(this.authorizeOutbox);
    this.authorizeOutbox.configure(environment.archiveCredentials, settings.archiveCredentials);

    this.exportRequest = make('Export', {
      entry: 'proxy/export.ts',
      description: 'Publishes an export request',
      memoryMegabytes: 512,
      timeout: apiTimeout,
    });
    this.exportRequest.configure(environment.archiveKind, settings.archiveKind);

    this.files = make('Files', {
      entry: 'proxy/files.ts',
      description: "Lists the caller's part of the outbox",
      memoryMegabytes: 1024,
      timeout: apiTimeout,
      verifiesVisas: true,
    });
    storage.outbox.grantList(this.files);

    this.stream = make('Stream', {
      entry: 'proxy/stream.ts',
      description: "Signs URLs for containers in the caller's part of the outbox",
      memoryMegabytes: 1024,
      timeout: apiTimeout,
      verifiesVisas: true,
    });
    storage.outbox.grantRead(this.stream);
    this.stream.configure(environment.urlLifetimeSeconds, String(settings.urlLifetimeSeconds));

    // Anyone can call it. It reads public keys and nothing else.
    this.jwks = make('Jwks', {
      entry: 'proxy/jwks.ts',
      description: 'Publishes the keys of delivery receipts',
      memoryMegabytes: 256,
      timeout: Duration.seconds(20),
    });
    storage.receiptKeys.grantPublish(this.jwks);

    this.serviceInfo = make('ServiceInfo', {
      entry: 'data-out/service-info.ts',
      description: 'Says what this service is',
      memoryMegabytes: 256,
      timeout: Duration.seconds(10),
    });
    this.authorizeVisa = make('AuthorizeVisa', {
      entry: 'data-out/authorize-visa.ts',
      description: 'Lets visas and passports in force through to direct access',
      memoryMegabytes: 1024,
      timeout: Duration.seconds(10),
      verifiesVisas: true,
    });

    this.datasets = make('Datasets', {
      entry: 'data-out/datasets.ts',
      description: 'Lists the datasets that the caller may have',
      memoryMegabytes: 1024,
      timeout: apiTimeout,
      verifiesVisas: true,
    });

    this.datasetFiles = make('DatasetFiles', {
      entry: 'data-out/dataset-files.ts',
      description: 'Lists the files of a dataset',
      memoryMegabytes: 1024,
      timeout: streamTimeout,
      verifiesVisas: true,
    });

    // One whole processor: decryption and the streams on both sides of it take turns.
    this.directFile = make('DirectFile', {
      entry: 'data-out/file.ts',
      description: 'Serves a file, decrypted or for a key of the caller',
      memoryMegabytes: 1769,
      timeout: streamTimeout,
      verifiesVisas: true,
      ...(settings.concurrency.directFiles !== undefined && { reservedConcurrency: settings.concurrency.directFiles }),
    });
    storage.archive.grantRead(this.directFile);
    storage.archiveKeys.grantRead(this.directFile);
    storage.outbox.grantDirect(this.directFile);
    this.directFile.configure(environment.urlLifetimeSeconds, String(settings.urlLifetimeSeconds));

    this.drs = make('Drs', {
      entry: 'data-out/drs.ts',
      description: 'Describes files as GA4GH DRS objects',
      memoryMegabytes: 1024,
      timeout: apiTimeout,
      verifiesVisas: true,
    });

    // Size and checksums are those of the plaintext as the edit list of the stored header leaves it. Anyone can call
    // the POST routes of DRS, so a function of its own opens the headers. It has no route and reads no bodies.
    this.describeFile = make('DescribeFile', {
      entry: 'data-out/describe-file.ts',
      description: 'Opens headers to describe files to DRS',
      memoryMegabytes: 1024,
      timeout: Duration.seconds(20),
    });
    storage.archive.grantHead(this.describeFile);
    storage.archiveKeys.grantRead(this.describeFile);
    this.describeFile.grantInvoke(this.drs, environment.describeFileFunctionArn);

    for (const target of [this.datasets, this.datasetFiles, this.directFile, this.drs, this.describeFile]) {
      storage.catalogue.grantRead(target);
    }
    for (const target of [this.serviceInfo, this.drs]) {
      target.configure(environment.serviceId, settings.service.id);
      target.configure(environment.organizationName, settings.service.organizationName);
      target.configure(environment.organizationUrl, settings.service.organizationUrl);
    }

    this.consumeExport = make('ConsumeExport', {
      entry: 'data-out/consume-export.ts',
      description: 'Verifies an export request and fans it out into files',
      memoryMegabytes: 512,
      timeout: Duration.minutes(5),
      verifiesVisas: true,
    });
    storage.catalogue.grantExport(this.consumeExport);

    this.stageFile = make('StageFile', {
      entry: 'data-out/stage-file.ts',
      description: "Rebuilds a file's header for its recipient and writes the container to the outbox",
      memoryMegabytes: 512,
      timeout: Duration.minutes(15),
    });
    storage.catalogue.grantExport(this.stageFile);
    storage.archive.grantRead(this.stageFile);
    storage.outbox.grantWrite(this.stageFile);
    storage.archiveKeys.grantRead(this.stageFile);
    storage.visaDenyList.grantRead(this.stageFile);
    // Messages are parsed strictly: a new field must be known to the reader before the sender writes it.
    this.consumeExport.node.addDependency(this.stageFile.function);

    // The receipt of 100,000 files is read, signed and sent in minutes.
    this.settleDelivery = make('SettleDelivery', {
      entry: 'data-out/settle-delivery.ts',
      description: 'Settles a request and writes its delivery receipt',
      memoryMegabytes: 512,
      timeout: Duration.minutes(15),
    });
    storage.catalogue.grantExport(this.settleDelivery);
    if (settings.deliveryReceipt ?? true) {
      storage.receiptKeys.grantSign(this.settleDelivery);
      storage.outbox.grantWriteReceipts(this.settleDelivery);
      this.settleDelivery.configure(environment.serviceId, settings.service.id);
    }

    this.migrate = make('Migrate', {
      entry: 'migrate.ts',
      description: "Brings the catalogue's tables up to date",
      memoryMegabytes: 512,
      timeout: Duration.minutes(12),
    });
    storage.catalogue.grantMigrate(this.migrate);

    this.protect = make('Protect', {
      entry: 'protect.ts',
      description: 'Protects the storage stack and its cluster against deletion',
      memoryMegabytes: 256,
      timeout: Duration.minutes(6),
    });
    storage.grantProtect(this.protect);
  }

  /** Functions that cannot work before the tables are there. */
  get usingCatalogue(): readonly ServiceFunction[] {
    return [
      ...[this.authorizeOutbox, this.consumeExport, this.stageFile, this.settleDelivery],
      ...[this.datasets, this.datasetFiles, this.directFile, this.drs, this.describeFile],
    ];
  }

  /** Functions that CloudFormation runs: one that fails rolls the deployment back. */
  get runDuringDeployment(): readonly ServiceFunction[] {
    return [this.migrate, this.protect];
  }

  /** Functions of the proxy that answer a waiting caller, and those of the data-out API that need no visa. */
  get answeringRequests(): readonly ServiceFunction[] {
    return [
      ...[this.authorizeAdmin, this.authorizeOutbox, this.exportRequest],
      ...[this.files, this.stream, this.jwks, this.serviceInfo],
    ];
  }

  /** Functions of direct access. */
  get servingDirectly(): readonly ServiceFunction[] {
    return [this.authorizeVisa, this.datasets, this.datasetFiles, this.directFile, this.drs, this.describeFile];
  }

  /** Functions that work on queues. */
  get workingOnQueues(): readonly ServiceFunction[] {
    return [this.consumeExport, this.stageFile, this.settleDelivery];
  }
}
