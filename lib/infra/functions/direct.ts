import { Duration } from 'aws-cdk-lib';
import { environment } from '../../contract/environment.ts';
import type { TicketKey } from '../security/ticket-key.ts';
import { reservedForDirectFiles } from '../settings.ts';
import { apiTimeout, configureLogin, type FunctionsProps, type Make, openApiFunction, streamTimeout } from './make.ts';

/** Functions of the direct API, which serve files directly to callers with a visa. */
export function directFunctions(make: Make, { settings, storage }: FunctionsProps, ticketKey: TicketKey) {
  const reserved = reservedForDirectFiles(settings);
  const serviceInfo = make('ServiceInfo', 'direct/service-info.ts', {
    description: 'Says what this service is',
    limits: [256, Duration.seconds(10)],
  });

  const authorizeVisa = make('AuthorizeVisa', 'direct/authorize-visa.ts', {
    description: 'Lets visas and passports in force through to the direct API',
    limits: [1024, Duration.seconds(10)],
    verifiesVisas: true,
  });

  const datasets = make('Datasets', 'direct/datasets.ts', {
    description: 'Lists the datasets that the caller may have, and their files',
    limits: [1024, streamTimeout],
    verifiesVisas: true,
  });

  // One whole processor: decryption and the streams on both sides of it take turns.
  const directFile = make('DirectFile', 'direct/file.ts', {
    description: 'Serves a file, decrypted or for a key of the caller',
    limits: [1769, streamTimeout],
    verifiesVisas: true,
    ...(reserved > 0 && { reservedConcurrency: reserved }),
  });
  storage.archive.grantRead(directFile);
  storage.archiveKeys.grantRead(directFile);
  storage.outbox.grantDirect(directFile);
  directFile.configure(environment.urlLifetimeSeconds, String(settings.urlLifetimeSeconds));

  const drs = make('Drs', 'direct/drs.ts', {
    description: 'Describes files as GA4GH DRS objects',
    limits: [1024, apiTimeout],
    verifiesVisas: true,
  });

  // As for a whole file: it decrypts, and streams parts.
  const htsget = make('Htsget', 'direct/htsget.ts', {
    description: 'Serves regions of reads and variants by htsget',
    limits: [1769, streamTimeout],
    verifiesVisas: true,
    ...(reserved > 0 && { reservedConcurrency: reserved }),
  });
  storage.archive.grantRead(htsget);
  storage.archiveKeys.grantRead(htsget);
  for (const target of [authorizeVisa, htsget]) ticketKey.grantRead(target);
  configureLogin(serviceInfo, settings);
  const { origins = [] } = settings.htsget ?? {};
  for (const target of [htsget, serviceInfo]) {
    if (origins.length > 0) target.configure(environment.htsgetOrigins, origins.join(','));
  }

  for (const target of [datasets, directFile, drs, htsget]) {
    storage.catalogue.grant(target, 'reader');
  }
  for (const target of [serviceInfo, drs]) {
    target.configure(environment.serviceId, settings.service.id);
    target.configure(environment.organizationName, settings.service.organizationName);
    target.configure(environment.organizationUrl, settings.service.organizationUrl);
  }

  const openApi = openApiFunction(make, 'DataOutOpenApi');
  return { serviceInfo, authorizeVisa, datasets, directFile, drs, htsget, openApi };
}
