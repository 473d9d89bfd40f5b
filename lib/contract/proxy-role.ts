/**
 * PostgreSQL role of list and stream, which answer to the network: it reads the archive users and nothing else. It is the
 * `username` in the secret of that role, too.
 */
export const proxyRole = 'data_out_proxy';
