import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import * as z from 'zod';
import { type DatabaseRole, databaseRoles } from '../../../contract/database-roles.ts';
import { CachedSecret, type SecretOptions } from '../secrets.ts';
import type { DataApi } from './data-api.ts';
import { takeMigrationLock } from './migrate.ts';

const grants: Readonly<Record<DatabaseRole, readonly string[]>> = {
  [databaseRoles.auditor]: [
    'usage on schema data_out',
    // Neither the recipient's key nor the hashes of the visa.
    `select (request_id, requested_at, archive_kind, kind, dataset_id, file_id, recipient, key_fingerprint, state, reason, revision,
       settled_revision, settled_at, files, staged, staged_bytes, receipt) on data_out.requests`,
    'select on data_out.request_files, data_out.export_log',
  ],
  [databaseRoles.proxy]: ['usage on schema data_out', 'select on data_out.archive_users'],
  [databaseRoles.reader]: [
    'usage on schema sda',
    'select on sda.files, sda.datasets, sda.file_dataset, sda.dataset_references, sda.dataset_event_log, sda.checksums',
  ],
  [databaseRoles.worker]: [
    'usage on schema sda, data_out',
    'select on sda.files, sda.datasets, sda.file_dataset, sda.dataset_references, sda.dataset_event_log, sda.checksums',
    // Not the number and the time of a row: the database gives those.
    `insert (request_id, event, reason, archive_kind, dataset_id, file_id, recipient, key_fingerprint, bytes,
       checksum) on data_out.export_log`,
    // ON CONFLICT reads the columns of its index.
    'select (request_id, event, file_id) on data_out.export_log',
    // Not what a request asks for.
    `select, insert, update (state, revision, settled_revision, settled_at, staged, staged_bytes, receipt)
       on data_out.requests`,
    // Not which request and file a row is about.
    `select, insert, update (state, reason, superseded_by, outbox_key, bytes, crc64nvme, header_sha256, upload_id, upload_for,
       changed_at) on data_out.request_files`,
    'execute on function data_out.delete_expired(integer, integer)',
  ],
};

/**
 * The password in the secret of a role: `{"username":"data_out_proxy","password":"…"}`, with at least 16 printable ASCII
 * characters. Read at every call.
 */
export async function passwordOf(role: DatabaseRole, options: SecretOptions): Promise<string> {
  const shape = z.object({ username: z.literal(role), password: z.string().regex(/^[\x20-\x7e]{16,}$/) });
  return await new CachedSecret(options, { shape, parse: ({ password }) => password, lifetimeMs: 0 }).get();
}

/**
 * Take the password of a role away, so that nothing can log in as it: its functions are gone. Does nothing when there is no
 * such role. {@link prepareRole} opens it again.
 */
export async function closeRole(db: DataApi, role: DatabaseRole): Promise<void> {
  await db.transaction(async (transaction) => {
    await transaction.execute(takeMigrationLock);
    await transaction.execute(
      `do $$
       begin
         if exists (select from pg_roles where rolname = '${role}') then
           alter role ${role} password null;
         end if;
       end
       $$`,
    );
  });
}

/**
 * Make a role, with its rights and its password. Doing it again is safe, and undoes what the role set for its own sessions.
 *
 * It is not a migration: a role belongs to the cluster, not to the database whose history the migrations record, and an operator
 * may give the role a secret, or the secret a new password, at any time.
 *
 * The role of `db` needs CREATEROLE. If the role exists, the role of `db` must have made it. To grant rights on the
 * tables, it must own them or have these rights with GRANT OPTION.
 */
export async function prepareRole(db: DataApi, role: DatabaseRole, password: string): Promise<void> {
  const verifier = scramVerifier(password);
  await db.transaction(async (transaction) => {
    await transaction.execute(takeMigrationLock);
    await transaction.execute(
      `do $$
       begin
         if not exists (select from pg_roles where rolname = '${role}') then
           create role ${role} login noinherit;
         end if;
       end
       $$`,
    );
    // A role may set defaults for its own sessions, such as a time limit that no statement meets.
    await transaction.execute(`alter role ${role} reset all`);
    await transaction.execute(
      `do $$ begin execute format('alter role ${role} in database %I reset all', current_database()); end $$`,
    );
    for (const grant of grants[role]) await transaction.execute(`grant ${grant} to ${role}`);
    // ALTER ROLE takes no parameter, and the text of a statement may be logged. So the verifier is passed in a setting
    // of this transaction. If the database logs it anyway, the log holds a salted hash.
    await transaction.execute("select set_config('data_out.role_verifier', :verifier, true) is not null", {
      verifier,
    });
    await transaction.execute(
      `do $$
       begin
         execute format('alter role ${role} password %L', current_setting('data_out.role_verifier'));
       end
       $$`,
    );
  });
}

/**
 * The form in which PostgreSQL stores a password, `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>` (RFC 5803
 * with RFC 7677's hash). `ALTER ROLE … PASSWORD` accepts it instead of the password, so the server never sees the
 * password.
 *
 * @param password printable ASCII, which SASLprep (RFC 4013) leaves as it is
 * @param salt any bytes @default - 16 random ones
 * @param iterations @default 4096, as PostgreSQL
 * @throws RangeError for a password with other characters, or none
 */
export function scramVerifier(password: string, salt: Uint8Array = randomBytes(16), iterations = 4096): string {
  // The value must not be in the message.
  if (!/^[\x20-\x7e]+$/.test(password)) throw new RangeError('expected a password of printable ASCII characters');
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const hmac = (text: string) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64');
  const serverKey = hmac('Server Key').toString('base64');
  return `SCRAM-SHA-256$${iterations}:${Buffer.from(salt).toString('base64')}$${storedKey}:${serverKey}`;
}
