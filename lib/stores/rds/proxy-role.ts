import * as z from 'zod';
import { proxyRole } from '../../contract/proxy-role.ts';
import { CachedSecret, type SecretOptions } from '../secrets/cached-secret.ts';
import type { DataApi } from './data-api.ts';
import { migrationLock } from './migrate.ts';
import { scramVerifier } from './scram-verifier.ts';

const login = z.object({
  username: z.literal(proxyRole),
  password: z.string().regex(/^[\x20-\x7e]{16,}$/),
});

/**
 * Password of the role `data_out_proxy`, from its secret `{"username":"data_out_proxy","password":"…"}`: at least 16
 * printable ASCII characters. Read at every call.
 *
 * @throws MalformedSecretError @throws TemporarilyUnavailableError
 */
export async function proxyPassword(options: SecretOptions): Promise<string> {
  const secret = new CachedSecret(options, { shape: login, parse: ({ password }) => password, lifetimeMs: 0 });
  return await secret.get();
}

/**
 * Make the role of list and stream, with what it may do and its password: all of it may be there already. Not one of the
 * migrations, because a role belongs to the cluster, not to the database whose history they record, and because an
 * operator may give the role a secret, or the secret a new password, at any time.
 *
 * The role of `db` needs CREATEROLE, and must have made `data_out_proxy` if that is there.
 */
export async function prepareProxyRole(db: DataApi, password: string): Promise<void> {
  const verifier = scramVerifier(password);
  await db.transaction(async (transaction) => {
    await transaction.execute(`select pg_advisory_xact_lock(${migrationLock})`);
    await transaction.execute(
      `do $$
       begin
         if not exists (select from pg_roles where rolname = '${proxyRole}') then
           create role ${proxyRole} login noinherit;
         end if;
       end
       $$`,
    );
    await transaction.execute(`grant usage on schema data_out to ${proxyRole}`);
    await transaction.execute(`grant select on data_out.archive_users to ${proxyRole}`);
    // ALTER ROLE takes no parameter, and what is in the text of a statement may be logged: the verifier goes by a setting
    // of this transaction. Where the database logs it all the same, it logs a salted hash.
    await transaction.execute("select set_config('data_out.proxy_verifier', :verifier, true) is not null", {
      verifier,
    });
    await transaction.execute(
      `do $$
       begin
         execute format('alter role ${proxyRole} password %L', current_setting('data_out.proxy_verifier'));
       end
       $$`,
    );
  });
}
