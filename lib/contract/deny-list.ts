import { createHash } from 'node:crypto';
import * as z from 'zod';
import { outboxPrefix, type Subject } from './outbox-key.ts';

/** One token, by its `jti` (RFC 7519 § 4.1.7), which is unique for its issuer, or by a hash when it has none. */
export type TokenId = { readonly iss: string } & ({ readonly jti: string } | { readonly sha256: string });

const text = z.string().min(1);
/**
 * From then on no waiting message can need the entry, and the operator's tool drops it. Only that tool reads this
 * field.
 */
const until = z.iso.datetime().optional();
const deniedToken = z.strictObject({ iss: text, jti: text, until });
/** A text that {@link tokenId} can make. */
export const tokenHash = z.string().regex(/^[0-9a-f]{64}$/);
const deniedHash = z.strictObject({ iss: text, sha256: tokenHash, until });
const deniedSubject = z.strictObject({ iss: text, sub: text });

/**
 * The document in the secret: `{"denied":[{"iss":"…","jti":"…"},{"iss":"…","sha256":"…"},{"iss":"…","sub":"…"}]}`.
 * Strict, because a misspelt entry would have no effect.
 */
export const denyListDocument = z.strictObject({ denied: z.array(z.union([deniedToken, deniedHash, deniedSubject])) });
export type DenyListDocument = z.infer<typeof denyListDocument>;
/** A token, or every token about one subject. `iss` is the issuer of the token itself, also of a visa in a passport. */
export type DenyListEntry = DenyListDocument['denied'][number];

/** Bytes of the document: what a secret of Secrets Manager holds. Some 500 entries of usual length fit. */
export const denyListBytes = 65_536;

/** The hashes of what is denied, see {@link entryHash}. */
export type DenyList = ReadonlySet<string>;

/**
 * The form in which entries are compared: SHA-256 in hex; for a subject, its outbox prefix. Messages carry such hashes
 * instead of names. The text that is hashed for a token begins with no digit, so a token never has the hash of a
 * subject.
 */
export function entryHash(entry: TokenId | Subject): string {
  if ('sub' in entry) return outboxPrefix(entry);
  if ('sha256' in entry) return entry.sha256;
  const { iss, jti } = entry;
  return createHash('sha256')
    .update(`jti:${Buffer.byteLength(iss)}:${iss}${jti}`)
    .digest('hex');
}

/**
 * How a token is denied alone. Without a `jti` it is the SHA-256 of what the issuer signed. The signature is left out,
 * because whoever holds a token of ES256 can write a second valid signature for it.
 */
export function tokenId(token: string, iss: string, jti: unknown): TokenId {
  if (typeof jti === 'string' && jti !== '') return { iss, jti };
  const signed = token.slice(0, token.lastIndexOf('.'));
  return { iss, sha256: createHash('sha256').update(signed).digest('hex') };
}

export function denyListOf({ denied }: DenyListDocument): DenyList {
  return new Set(denied.map(entryHash));
}
