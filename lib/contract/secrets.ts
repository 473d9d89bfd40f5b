import * as z from 'zod';

const text = z.string().min(1);

/**
 * The document in the administrators' secret: `{"users":[{"username","password":"$scrypt$…","roles":["ADMIN"]}]}`.
 * `password` is a hash: scrypt in PHC form, or bcrypt.
 */
export const administratorsDocument = z.object({
  users: z.array(z.object({ username: text, password: text, roles: z.array(z.string()) })),
});
export type AdministratorsDocument = z.infer<typeof administratorsDocument>;

/**
 * The document in the secret with the archive's Crypt4GH key pairs, newest first:
 * `{"keys":[{"privateKey":"-----BEGIN CRYPT4GH PRIVATE KEY-----…","passphrase":"…"}]}`.
 */
export const archiveKeysDocument = z.object({
  keys: z.array(z.object({ privateKey: text, passphrase: z.string().optional() })),
});
export type ArchiveKeysDocument = z.infer<typeof archiveKeysDocument>;

/** The document in the secret of the tokens in htsget tickets: `{"key":"…"}`, 64 random letters and digits. */
export const ticketKeyDocument = z.object({ key: z.string().min(32) });
