import { environment } from './environment.ts';

/**
 * PostgreSQL roles of the functions; the owner of the tables is for the migration. Each is the `username` in the secret of
 * that role.
 */
export const databaseRoles = {
  /** The state of exports: reads what happened to requests and files and the audit trail, and nothing else. */
  auditor: 'data_out_auditor',
  /** The authorizer of list and stream: reads the archive users and nothing else. */
  proxy: 'data_out_proxy',
  /** The direct API: reads the catalogue and nothing else. */
  reader: 'data_out_reader',
  /**
   * The consumers of the queues and the sweep: read the catalogue, append to the audit trail, record what happens to requests,
   * files and copies, and nothing else.
   */
  worker: 'data_out_worker',
} as const;

/** Variables that name the secret of each role to the migration, which makes the role. One that is not set: no such role. */
export const roleSecretVariables = {
  auditor: environment.databaseAuditorSecretArn,
  proxy: environment.databaseProxySecretArn,
  reader: environment.databaseReaderSecretArn,
  worker: environment.databaseWorkerSecretArn,
} as const;

export type DatabaseRole = (typeof databaseRoles)[keyof typeof databaseRoles];
