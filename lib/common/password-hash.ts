import { type BinaryLike, randomBytes, type ScryptOptions, scrypt } from 'node:crypto';
import { promisify } from 'node:util';

/**
 * Password hashes as the administrators' secret and `data_out.archive_users` hold them: scrypt (RFC 7914) in PHC string
 * form, `$scrypt$ln=15,r=8,p=1$<salt>$<hash>`, salt and hash in base64 without padding. The operator's tool writes them,
 * the HTTP edge (`lib/service/http/passwords.ts`) compares.
 */
interface ScryptHash {
  /** log2 of scrypt's N. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Uint8Array;
  readonly hash: Uint8Array;
}

/** Cost of new hashes: 32 MiB, about a tenth of a second. */
export const scryptCost = { ln: 15, r: 8, p: 1 } as const;

/**
 * Most memory (128 · N · r bytes) and work (128 · N · r · p) that a stored hash may ask for. N = 2^17 with r = 8, which
 * is common advice, fits; more would be a burden on the functions that compare.
 */
const costLimit = { memory: 128 * 2 ** 20, work: 256 * 2 ** 20 };
const phc =
  /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,86}={0,2})\$([A-Za-z0-9+/]{22,86}={0,2})$/;

/** The parts of a PHC string; `undefined` for anything else, and for a cost above the limit. */
export function parseScryptHash(text: string): ScryptHash | undefined {
  const match = phc.exec(text);
  if (!match) return undefined;
  const [ln = 0, r = 0, p = 0] = match.slice(1, 4).map(Number);
  const memory = 128 * 2 ** ln * r;
  if (ln < 1 || r < 1 || p < 1 || memory > costLimit.memory || memory * p > costLimit.work) return undefined;
  const [salt = '', hash = ''] = match.slice(4);
  return { ln, r, p, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') };
}

/** Derive `length` bytes from a password with the given cost; the password is taken as UTF-8. */
export async function deriveScrypt(
  password: string,
  { ln, r, p, salt }: Omit<ScryptHash, 'hash'>,
  length: number,
): Promise<Uint8Array> {
  const derive = promisify<BinaryLike, BinaryLike, number, ScryptOptions, Buffer>(scrypt);
  // Node refuses parameters that need more than `maxmem`; OpenSSL counts the block buffers on top of 128 · N · r.
  return await derive(password, salt, length, { N: 2 ** ln, r, p, maxmem: 2 * costLimit.memory });
}

/** Hash a new password. `salt` is for tests; by default 16 random bytes. */
export async function hashPassword(password: string, salt: Uint8Array = randomBytes(16)): Promise<string> {
  const hash = await deriveScrypt(password, { ...scryptCost, salt }, 32);
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64').replace(/=+$/, '');
  return `$scrypt$ln=${scryptCost.ln},r=${scryptCost.r},p=${scryptCost.p}$${base64(salt)}$${base64(hash)}`;
}
