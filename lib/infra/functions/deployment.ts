import { Duration } from 'aws-cdk-lib';
import { environment } from '../../contract/environment.ts';
import type { FunctionsProps, Make } from './make.ts';

/** Functions that CloudFormation runs: one that fails rolls the deployment back. */
export function deploymentFunctions(make: Make, { settings, storage }: FunctionsProps) {
  // Lambda publishes no version of an unchanged function. When the settings begin to name the cluster that the storage stack made,
  // the template changes and its ARNs do not: the description makes the difference.
  const cluster = 'clusterArn' in settings.database ? 'the cluster of the settings' : 'a cluster of its own';
  const migrate = make('Migrate', {
    entry: 'migrate.ts',
    description: `Brings the catalogue's tables up to date, in ${cluster}`,
    memoryMegabytes: 512,
    timeout: Duration.minutes(12),
  });
  storage.catalogue.grantMigrate(migrate);
  storage.outbox.grantMark(migrate);
  if (settings.auditRetentionDays !== undefined) {
    migrate.configure(environment.auditRetentionDays, String(settings.auditRetentionDays));
  }

  const protect = make('Protect', {
    entry: 'protect.ts',
    description: 'Protects the storage stack and its cluster against deletion',
    memoryMegabytes: 256,
    timeout: Duration.minutes(6),
  });
  storage.grantProtect(protect);

  return { migrate, protect };
}
