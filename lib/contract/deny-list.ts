import { createHash } from 'node:crypto';
import * as z from 'zod';
import { outboxPrefix, type Subject } from './outbox-key.ts';

/** One token, by its `jti` (RFC 7519 § 4.1.7), which is unique for its issuer. */
export interface TokenId {
  readonly iss: string;
  readonly jti: string;
}

const text = z.string().min(1);

const deniedToken = z.strictObject({
  iss: text,
  jti: text,
  /**
   * From then on no waiting message can need the entry, and the operator's tool drops it. Only that tool reads this
   * field.
   */
  until: z.iso.datetime().optional(),
});
const deniedSubject = z.strictObject({ iss: text, sub: text });

/**
 * The document in the secret: `{"denied":[{"iss":"…","jti":"…"},{"iss":"…","sub":"…"}]}`. Strict, because a misspelt
 * entry would have no effect.
 */
export const denyListDocument = z.strictObject({ denied: z.array(z.union([deniedToken, deniedSubject])) });
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
  const { iss, jti } = entry;
  return createHash('sha256')
    .update(`jti:${Buffer.byteLength(iss)}:${iss}${jti}`)
    .digest('hex');
}

export function denyListOf({ denied }: DenyListDocument): DenyList {
  return new Set(denied.map(entryHash));
}
