import { createPublicKey, type KeyObject } from 'node:crypto';
import * as z from 'zod';

/** A public key of an issuer. The key decides on the algorithm, the token may only agree (RFC 8725 § 3.1). */
export interface IssuerKey {
  readonly kid: string;
  /** The only algorithms of visas and passports (AAI 1.2, Signing Algorithms). */
  readonly alg: 'RS256' | 'ES256';
  readonly key: KeyObject;
}

/** Bits of an RSA modulus (RFC 7518 § 3.3). */
const minimumRsaBits = 2048;
/** Members that only a private or a symmetric key has (RFC 7518 § 6.2.2, § 6.3.2, § 6.4.1). */
const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

const publicMembers = z.looseObject({}).superRefine((jwk, context) => {
  for (const member of secretMembers) {
    if (!(member in jwk)) continue;
    const message = 'a private or symmetric key; only public keys may be here';
    context.addIssue({ code: 'custom', path: [member], message });
  }
});

function algorithm<Name extends IssuerKey['alg']>(name: Name) {
  return z.literal(name, `expected "${name}" for this key, or none`).default(name);
}

const members = {
  kid: z.string().min(1),
  use: z.literal('sig', 'expected "sig", or none').optional(),
  key_ops: z
    .array(z.unknown())
    .refine((operations) => operations.includes('verify'), 'expected "verify" among them, or none')
    .optional(),
};
const verificationKey = z.discriminatedUnion('kty', [
  z.object({ ...members, kty: z.literal('RSA'), alg: algorithm('RS256'), n: z.string(), e: z.string() }),
  z.object({
    ...members,
    kty: z.literal('EC'),
    alg: algorithm('ES256'),
    crv: z.literal('P-256', 'expected "P-256"'),
    x: z.string(),
    y: z.string(),
  }),
]);

const issuerKey = publicMembers.pipe(verificationKey).transform((jwk, context): IssuerKey => {
  const refuse = (member: string, message: string) => {
    context.addIssue({ code: 'custom', path: [member], message });
    return z.NEVER;
  };
  let key: KeyObject;
  try {
    key = createPublicKey({ key: jwk, format: 'jwk' });
  } catch {
    return refuse(jwk.kty === 'RSA' ? 'n' : 'x', `not an ${jwk.kty} public key`);
  }
  const { modulusLength = minimumRsaBits, publicExponent = 65_537n } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < minimumRsaBits) {
    return refuse('n', `an RSA key of ${modulusLength} bits; at least ${minimumRsaBits} are needed`);
  }
  if (publicExponent < 3n || publicExponent % 2n === 0n) return refuse('e', 'not a usable RSA exponent');
  return { kid: jwk.kid, alg: jwk.alg, key };
});

/** A public key that only encrypts (RFC 7517 § 4.2; RFC 7518 § 4.1). */
const encryptionKey = publicMembers.refine((jwk) => {
  const mayEncrypt = 'use' in jwk ? jwk.use === 'enc' : 'alg' in jwk;
  return mayEncrypt && /^(?:RSA-OAEP|RSA1_5|ECDH-ES)/.test(String(jwk.alg ?? 'ECDH-ES'));
});

/** `undefined` for a key that only encrypts, as published sets hold some. */
const signingKey = z.unknown().transform((jwk, context): IssuerKey | undefined => {
  if (encryptionKey.safeParse(jwk).success) return undefined;
  const { data, error } = issuerKey.safeParse(jwk);
  for (const { path, message } of error?.issues ?? []) context.addIssue({ code: 'custom', path: [...path], message });
  return data;
});

/**
 * The JWK set of an issuer, by `kid`, and how many keys for encryption were left out. Members that do not decide whether a key
 * verifies signatures are not used.
 */
export const keySet = z.looseObject({ keys: z.array(signingKey).min(1) }).transform(({ keys }, context) => {
  const found = new Map<string, IssuerKey>();
  for (const [index, key] of keys.entries()) {
    if (key === undefined) continue;
    const message = 'another key of this issuer has the same id';
    if (found.has(key.kid)) context.addIssue({ code: 'custom', path: ['keys', index, 'kid'], message });
    found.set(key.kid, key);
  }
  if (found.size === 0) context.addIssue({ code: 'custom', path: ['keys'], message: 'no key verifies signatures' });
  return { byId: found, leftOut: keys.filter((key) => key === undefined).length };
});
