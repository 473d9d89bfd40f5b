import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { environment } from '../contract/environment.ts';
import { ServiceFunction, type ServiceFunctionProps } from './service-function.ts';
import type { Settings } from './settings.ts';
import type { StorageStack } from './storage-stack.ts';

/** API Gateway gives up after 29 seconds. */
const apiTimeout = Duration.seconds(29);

/** All functions of the service, with what each may read and write in the storage stack. */
export class Functions extends Construct {
  readonly authorizeAdmin: ServiceFunction;
  readonly exportRequest: ServiceFunction;
  readonly files: ServiceFunction;
  readonly stream: ServiceFunction;
  readonly serviceInfo: ServiceFunction;
  readonly consumeExport: ServiceFunction;
  readonly stageFile: ServiceFunction;
  readonly migrate: ServiceFunction;

  constructor(scope: Construct, id: string, props: { readonly settings: Settings; readonly storage: StorageStack }) {
    super(scope, id);
    const { settings, storage } = props;
    const make = (name: string, options: Omit<ServiceFunctionProps, 'logRetentionDays'>) =>
      new ServiceFunction(this, name, { ...options, logRetentionDays: settings.logRetentionDays });

    // Password hashes are made to be slow: the functions that check them get more of a processor.
    this.authorizeAdmin = make('AuthorizeAdmin', {
      entry: 'proxy/authorize-admin.ts',
      description: 'Lets administrators with the role ADMIN export',
      memoryMegabytes: 1024,
      timeout: Duration.seconds(10),
    });
    storage.administrators.grantRead(this.authorizeAdmin);

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

    for (const target of [this.files, this.stream]) {
      storage.catalogue.grantReadArchiveUsers(target);
      target.configure(environment.archiveCredentials, settings.archiveCredentials);
    }

    this.serviceInfo = make('ServiceInfo', {
      entry: 'data-out/service-info.ts',
      description: 'Says what this service is',
      memoryMegabytes: 256,
      timeout: Duration.seconds(10),
    });
    this.serviceInfo.configure(environment.serviceId, settings.service.id);
    this.serviceInfo.configure(environment.organizationName, settings.service.organizationName);
    this.serviceInfo.configure(environment.organizationUrl, settings.service.organizationUrl);

    this.consumeExport = make('ConsumeExport', {
      entry: 'data-out/consume-export.ts',
      description: 'Verifies an export request and fans it out into files',
      memoryMegabytes: 512,
      timeout: Duration.minutes(5),
      verifiesVisas: true,
    });
    storage.catalogue.grantQuery(this.consumeExport);

    this.stageFile = make('StageFile', {
      entry: 'data-out/stage-file.ts',
      description: "Rebuilds a file's header for its recipient and writes the container to the outbox",
      memoryMegabytes: 512,
      timeout: Duration.minutes(15),
    });
    storage.catalogue.grantQuery(this.stageFile);
    storage.archive.grantRead(this.stageFile);
    storage.outbox.grantWrite(this.stageFile);
    storage.archiveKeys.grantRead(this.stageFile);

    this.migrate = make('Migrate', {
      entry: 'migrate.ts',
      description: "Brings the catalogue's tables up to date",
      memoryMegabytes: 512,
      timeout: Duration.minutes(12),
    });
    storage.catalogue.grantMigrate(this.migrate);
  }

  /** Functions that cannot work before the tables are there. */
  get usingCatalogue(): readonly ServiceFunction[] {
    return [this.files, this.stream, this.consumeExport, this.stageFile];
  }

  /** Functions that somebody waits for. */
  get answeringRequests(): readonly ServiceFunction[] {
    return [this.authorizeAdmin, this.exportRequest, this.files, this.stream, this.serviceInfo];
  }

  /** Functions that work on queues. */
  get workingOnQueues(): readonly ServiceFunction[] {
    return [this.consumeExport, this.stageFile];
  }
}
