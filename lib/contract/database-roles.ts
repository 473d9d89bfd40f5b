/**
 * PostgreSQL roles of the functions; the owner of the tables is for the migration alone. Each is the `username` in the
 * secret of that role, too.
 */
export const databaseRoles = {
  /** The authorizer of list and stream: reads the archive users and nothing else. */
  proxy: 'data_out_proxy',
  /** Direct access: reads the catalogue and nothing else. */
  reader: 'data_out_reader',
  /**
   * The consumers of the queues: read the catalogue, append to the audit trail, keep the progress of fan-outs, record how
   * requests end, and nothing else.
   */
  worker: 'data_out_worker',
} as const;

export type DatabaseRole = (typeof databaseRoles)[keyof typeof databaseRoles];
