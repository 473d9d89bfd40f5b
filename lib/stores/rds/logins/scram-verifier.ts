import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

/**
 * The form in which PostgreSQL stores a password, `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>` (RFC 5803
 * with RFC 7677's hash). `ALTER ROLE … PASSWORD` accepts it in place of the password, so the server never sees the
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
