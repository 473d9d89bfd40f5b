import { createHash, createHmac, pbkdf2Sync, timingSafeEqual } from 'node:crypto';
import type { PGlite } from '@electric-sql/pglite';
import { AwsError } from '../endpoint/errors.ts';

/** A role and its password, as in a secret of the Data API. */
export interface Login {
  readonly username: string;
  readonly password: string;
}

/** Let the role in as PostgreSQL would. @throws AwsError as the Data API puts it, the same for every wrong login. */
export async function authenticate(postgres: PGlite, { username, password }: Login): Promise<void> {
  const { rows } = await postgres.query<{ rolpassword: string | null }>(
    'select rolpassword from pg_authid where rolname = $1 and rolcanlogin',
    [username],
  );
  if (matches(password, rows[0]?.rolpassword ?? '')) return;
  throw new AwsError(
    400,
    'DatabaseErrorException',
    `FATAL: password authentication failed for user "${username}"; SQLState: 28P01`,
  );
}

/** Whether the password belongs to PostgreSQL's SCRAM verifier (RFC 5803). */
function matches(password: string, verifier: string): boolean {
  const [, iterations, salt = '', storedKey = ''] =
    /^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):[^:]+$/.exec(verifier) ?? [];
  if (!iterations) return false;
  const salted = pbkdf2Sync(password, Buffer.from(salt, 'base64'), Number(iterations), 32, 'sha256');
  const clientKey = createHmac('sha256', salted).update('Client Key').digest();
  return timingSafeEqual(createHash('sha256').update(clientKey).digest(), Buffer.from(storedKey, 'base64'));
}
