/**
 * PostgreSQL roles of the functions that answer to the network. Each is the `username` in the secret of that role, too.
 */
export const databaseRoles = {
  /** List and stream: reads the archive users and nothing else. */
  proxy: 'data_out_proxy',
  /** Direct access: reads the catalogue and nothing else. */
  reader: 'data_out_reader',
} as const;

export type DatabaseRole = (typeof databaseRoles)[keyof typeof databaseRoles];
