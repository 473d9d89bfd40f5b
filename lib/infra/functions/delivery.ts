import { Duration } from 'aws-cdk-lib';
import { environment } from '../../contract/environment.ts';
import type { Settings } from '../settings.ts';
import { apiTimeout, configureLogin, type FunctionsProps, type Make, openApiFunction, streamTimeout } from './make.ts';
import type { ServiceFunction } from './service-function.ts';

/** Functions of the delivery API, which answer administrators and researchers. */
export function deliveryFunctions(make: Make, { settings, storage }: FunctionsProps) {
  // Password hashes are made to be slow: the functions that check them get more of a processor.
  const authorizeAdmin = make('AuthorizeAdmin', 'delivery/authorize-admin.ts', {
    description: 'Lets administrators with the role ADMIN export and see exports',
    limits: [1024, Duration.seconds(10)],
  });
  storage.administrators.grantRead(authorizeAdmin);

  const authorizeOutbox = make('AuthorizeOutbox', 'delivery/authorize-outbox.ts', {
    description: "Lets visas with the archive's credentials through to the outbox",
    limits: [1024, Duration.seconds(10)],
    verifiesVisas: true,
  });
  storage.catalogue.grant(authorizeOutbox, 'proxy');
  authorizeOutbox.configure(environment.archiveCredentials, settings.archiveCredentials);

  const exportRequest = make('Export', 'delivery/export.ts', {
    description: 'Publishes an export request',
    limits: [512, apiTimeout],
  });
  exportRequest.configure(environment.archiveKind, settings.archiveKind);

  const exportStatus = make('ExportStatus', 'delivery/export-status.ts', {
    description: 'Shows administrators what happened to exports',
    limits: [512, apiTimeout],
  });
  exportStatus.configure(environment.archiveKind, settings.archiveKind);
  storage.catalogue.grant(exportStatus, 'auditor');

  const files = make('Files', 'delivery/files.ts', {
    description: "Lists the caller's part of the outbox",
    limits: [1024, streamTimeout],
    verifiesVisas: true,
  });
  storage.outbox.grantList(files);

  const stream = make('Stream', 'delivery/stream.ts', {
    description: "Signs URLs for containers in the caller's part of the outbox",
    limits: [1024, apiTimeout],
    verifiesVisas: true,
  });
  storage.outbox.grantRead(stream);
  stream.configure(environment.urlLifetimeSeconds, String(settings.urlLifetimeSeconds));

  // Anyone can call it. It reads public keys and nothing else.
  const jwks = make('Jwks', 'delivery/jwks.ts', {
    description: 'Publishes the keys of delivery receipts',
    limits: [256, Duration.seconds(20)],
  });
  storage.receiptKeys.grantPublish(jwks);

  // Anyone can call it. It reads its own settings and nothing else.
  const about = make('About', 'delivery/about.ts', {
    description: 'Says what this service is, and where researchers sign in',
    limits: [256, Duration.seconds(10)],
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
  const adminPage = make('AdminPage', 'delivery/admin-page.ts', {
    description: 'Serves the page for administrators',
    limits: [256, Duration.seconds(10)],
    servesAdminPage: true,
  });
  adminPage.configure(environment.archiveKind, settings.archiveKind);
  return adminPage;
}
