import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { compare } from 'bcryptjs';
import { deriveScrypt, parseScryptHash, scryptCost } from '../../common/password-hash.ts';

/** bcrypt as the central archive and common libraries write it; a cost above 13 would take seconds of a function. */
const bcrypt = /^\$2[aby]\$(?:0[4-9]|1[0-3])\$[./A-Za-z0-9]{53}$/;

/** bcrypt ignores the bytes of a password after these, so any ending would fit. */
const bcryptBytes = 72;

/** The hash of users that do not exist: it takes the work of a stored one, and no password fits. */
const unknownUser = { ...scryptCost, salt: new Uint8Array(16) };

/**
 * Passwords that have fitted, by their stored hash. A client sends its password with each request, and the slow hash protects
 * what is stored, not what was just sent. What is kept means nothing outside this process.
 */
const fitting = new Map<string, Uint8Array>();
const mostFitting = 100;
const key = randomBytes(32);

/**
 * Whether the password belongs to the stored hash (scrypt in PHC form, or bcrypt). Comparing takes the
 * same time wherever the two differ; one that has fitted before takes none. A password over 72 bytes (UTF-8) fits no bcrypt hash. Without a stored hash (unknown
 * user) the result is false, after the time that a new hash takes.
 * @throws Error when the stored hash has another form or a cost out of bounds: an operator's mistake, never a fallback to
 * comparing plain text.
 */
export async function verifyPassword(password: string, stored: string | undefined): Promise<boolean> {
  if (stored === undefined) {
    await deriveScrypt(password, unknownUser, 32);
    return false;
  }
  const digest = createHmac('sha256', key).update(password).digest();
  const known = fitting.get(stored);
  if (known !== undefined && timingSafeEqual(known, digest)) return true;
  const fits = await belongsTo(password, stored);
  if (fits) {
    if (fitting.size >= mostFitting) fitting.clear();
    fitting.set(stored, digest);
  }
  return fits;
}

async function belongsTo(password: string, stored: string): Promise<boolean> {
  if (bcrypt.test(stored)) return (await compare(password, stored)) && Buffer.byteLength(password) <= bcryptBytes;
  const parsed = parseScryptHash(stored);
  if (!parsed)
    throw new Error('a stored password hash is neither scrypt in PHC form nor bcrypt, or its cost is out of bounds');
  const derived = await deriveScrypt(password, parsed, parsed.hash.length);
  return timingSafeEqual(derived, parsed.hash);
}
