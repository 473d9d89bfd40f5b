import { type DatabaseRole, databaseRoles } from '../../lib/contract/database-roles.ts';
import { environment } from '../../lib/contract/environment.ts';

export interface RoleSecret {
  readonly role: DatabaseRole;
  readonly secretArn: string;
}

/** The roles with a secret of their own. A role has none where the operator gave its functions the owner's credentials. */
export const roleSecrets: readonly RoleSecret[] = (
  [
    [databaseRoles.proxy, environment.databaseProxySecretArn],
    [databaseRoles.auditor, environment.databaseAuditorSecretArn],
    [databaseRoles.reader, environment.databaseReaderSecretArn],
    [databaseRoles.worker, environment.databaseWorkerSecretArn],
  ] as const
).flatMap(([role, variable]) => {
  const secretArn = process.env[variable];
  return secretArn ? [{ role, secretArn }] : [];
});
