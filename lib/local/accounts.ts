import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { hashPassword } from '../common/password-hash.ts';
import type { StackOutputs } from '../contract/outputs.ts';
import type { KeyFiles } from './keys.ts';
import type { Database } from './rds-data/database.ts';
import type { Secrets } from './secrets-manager/secrets.ts';
import { list, record } from './template/template.ts';

export interface Account {
  readonly username: string;
  readonly password: string;
}

/** The accounts of one engine. Their passwords are random. */
export interface Accounts {
  /** Administrator with the role ADMIN. */
  readonly admin: Account;
  /** Known to the export endpoint, without the role. */
  readonly withoutRole: Account;
  /** User of the central archive, for list and stream. */
  readonly archiveUser: Account;
}

/** @param file keeps the accounts; `undefined`: new passwords at every start. */
export function prepareAccounts(file: string | undefined): Accounts {
  if (file && existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Accounts;
  const account = (username: string) => ({ username, password: randomBytes(15).toString('base64url') });
  const accounts = {
    admin: account('admin'),
    withoutRole: account('helpdesk'),
    archiveUser: account('archive-user'),
  };
  if (file) writeFileSync(file, JSON.stringify(accounts), { mode: 0o600 });
  return accounts;
}

/** Put administrators and archive keys into their secrets, unless an operator has put other ones there. */
export async function fillSecrets(
  secrets: Secrets,
  outputs: StackOutputs,
  { admin, withoutRole }: Accounts,
  { archivePrivateKey }: KeyFiles,
): Promise<void> {
  const { AdminSecretArn: adminSecret, ArchiveKeysSecretArn: keysSecret } = outputs;
  if (list(contentOf(secrets, adminSecret).users).length === 0) {
    const users = await Promise.all([user(admin, ['ADMIN']), user(withoutRole, [])]);
    secrets.put(adminSecret, JSON.stringify({ users }));
  }
  if (list(contentOf(secrets, keysSecret).keys).length === 0) {
    secrets.put(keysSecret, JSON.stringify({ keys: [{ privateKey: archivePrivateKey }] }));
  }
}

/** Make the archive user known, after the migrations. */
export async function addArchiveUser(database: Database, { username, password }: Account): Promise<void> {
  const values = [username, await hashPassword(password)].map((text) => ({ text, oid: 0 }));
  await database.run(
    `insert into data_out.archive_users (username, password_hash) values ($1, $2) on conflict (username) do nothing`,
    values,
  );
}

async function user({ username, password }: Account, roles: readonly string[]) {
  return { username, password: await hashPassword(password), roles };
}

function contentOf(secrets: Secrets, arn: string): Readonly<Record<string, unknown>> {
  return record(JSON.parse(secrets.get(arn).value));
}
