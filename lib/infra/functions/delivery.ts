import { Duration } from 'aws-cdk-lib';
import { environment } from '../../contract/environment.ts';
import type { Settings } from '../settings.ts';
import { apiTimeout, configureLogin, type FunctionsProps, type Make, openApiFunction, streamTimeout } from './make.ts';
import type { ServiceFunction } from './service-function.ts';

/** Functions of the delivery API, which answer administrators and researchers. */
export function deliveryFunctions(make: Make, { settings, storage }: FunctionsProps) {
  // Password hashes are made to be slow: the functions that check them get more of a processor.
  const authorizeAdmin = make('AuthorizeAdmin', {
    entry: 'delivery/authorize-admin.ts',
    description: 'Lets administrators with the role ADMIN export and see exports',
    memoryMegabytes: 1024,
    timeout: Duration.seconds(10),
  });
  storage.administrators.grantRead(authorizeAdmin);

  const authorizeOutbox = make('AuthorizeOutbox', {
    entry: 'delivery/authorize-outbox.ts',
    description: "Lets visas with the archive's credentials through to the outbox",
    memoryMegabytes: 1024,
    timeout: Duration.seconds(10),
    verifiesVisas: true,
  });
  storage.catalogue.grant(authorizeOutbox, 'proxy');
  authorizeOutbox.configure(environment.archiveCredentials, settings.archiveCredentials);

  const exportRequest = make('Export', {
    entry: 'delivery/export.ts',
    description: 'Publishes an export request',
    memoryMegabytes: 512,
    timeout: apiTimeout,
  });
  exportRequest.configure(environment.archiveKind, settings.archiveKind);

  const exportStatus = make('ExportStatus', {
    entry: 'delivery/export-status.ts',
    description: 'Shows administrators what happened to exports',
    memoryMegabytes: 512,
    timeout: apiTimeout,
  });
  exportStatus.configure(environment.archiveKind, settings.archiveKind);
  storage.catalogue.grant(exportStatus, 'auditor');

  const files = make('Files', {
    entry: 'delivery/files.ts',
    description: "Lists the caller's part of the outbox",
    memoryMegabytes: 1024,
    timeout: streamTimeout,
    verifiesVisas: true,
  });
  storage.outbox.grantList(files);

  const stream = make('Stream', {
    entry: 'delivery/stream.ts',
    description: "Signs URLs for containers in the caller's part of the outbox",
    memoryMegabytes: 1024,
    timeout: apiTimeout,
    verifiesVisas: true,
  });
  storage.outbox.grantRead(stream);
  stream.configure(environment.urlLifetimeSeconds, String(settings.urlLifetimeSeconds));

  // Anyone can call it. It reads public keys and nothing else.
  const jwks = make('Jwks', {
    entry: 'delivery/jwks.ts',
    description: 'Publishes the keys of delivery receipts',
    memoryMegabytes: 256,
    timeout: Duration.seconds(20),
  });
  storage.receiptKeys.grantPublish(jwks);

  // Anyone can call it. It reads its own settings and nothing else.
  const about = make('About', {
    entry: 'delivery/about.ts',
    description: 'Says what this service is, and where researchers sign in',
    memoryMegabytes: 256,
    timeout: Duration.seconds(10),
    namesIssuers: true,
  });
  about.configure(environment.archiveKind, settings.archiveKind);
  about.configure(environment.archiveCredentials, settings.archiveCredentials);
  about.configure(environment.organizationName, settings.service.organizationName);
  configureLogin(about, settings);

  return {
    ...{ about, authorizeAdmin, authorizeOutbox, exportRequest, exportStatus, files, stream, jwks },
    openApi: openApiFunction(make, 'ProxyOpenApi'),
    adminPage: adminPageFunction(make, settings),
  };
}

/** @returns `undefined` when the settings have no page */
function adminPageFunction(make: Make, settings: Settings): ServiceFunction | undefined {
  if (!settings.adminPage) return undefined;
  const adminPage = make('AdminPage', {
    entry: 'delivery/admin-page.ts',
    description: 'Serves the page for administrators',
    memoryMegabytes: 256,
    timeout: Duration.seconds(10),
    servesAdminPage: true,
  });
  adminPage.configure(environment.archiveKind, settings.archiveKind);
  return adminPage;
}
