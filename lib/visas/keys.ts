import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';

/** The only algorithms of visas and passports (AAI 1.2, Signing Algorithms). */
type SignatureAlgorithm = 'RS256' | 'ES256';

/** A public key of an issuer. The key decides on the algorithm, the token may only agree (RFC 8725 § 3.1). */
export interface IssuerKey {
  readonly kid: string;
  readonly alg: SignatureAlgorithm;
  readonly key: KeyObject;
}

/** What is wrong with a JWK, and in which member. */
export class KeyProblem extends Error {
  override readonly name: string = 'KeyProblem';
  readonly member: string;
  constructor(member: string, message: string) {
    super(message);
    this.member = member;
  }
}

/** Bits of an RSA modulus (RFC 7518 § 3.3). */
const minimumRsaBits = 2048;
/** Members that only a private or a symmetric key has (RFC 7518 § 6.2.2, § 6.3.2, § 6.4.1). */
const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/**
 * Import one JWK of an issuer's set: a public RSA key of at least 2048 bits or a public EC key on P-256, with a `kid`.
 * `alg`, `use` and `key_ops`, where given, must agree with verifying signatures. Other members are not used.
 *
 * @throws KeyProblem
 */
export function importIssuerKey(jwk: Readonly<Record<string, unknown>>): IssuerKey {
  const { kid, kty, use, alg, key_ops: operations } = jwk;
  for (const member of secretMembers) {
    if (member in jwk) throw new KeyProblem(member, 'a private or symmetric key; only public keys may be here');
  }
  const expected = kty === 'RSA' ? 'RS256' : kty === 'EC' ? 'ES256' : undefined;
  if (!expected) throw new KeyProblem('kty', 'expected "RSA" or "EC"');
  if (typeof kid !== 'string' || kid === '') throw new KeyProblem('kid', 'expected the id of the key');
  if (alg !== undefined && alg !== expected)
    throw new KeyProblem('alg', `expected "${expected}" for this key, or none`);
  if (use !== undefined && use !== 'sig') throw new KeyProblem('use', 'expected "sig", or none');
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    throw new KeyProblem('key_ops', 'expected "verify" among them, or none');
  }
  return { kid, alg: expected, key: expected === 'RS256' ? rsaKey(jwk) : ecKey(jwk) };
}

function rsaKey({ n, e }: JsonWebKey): KeyObject {
  const key = publicKey({ kty: 'RSA', n, e }, 'n');
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < minimumRsaBits) {
    throw new KeyProblem('n', `an RSA key of ${modulusLength} bits; at least ${minimumRsaBits} are needed`);
  }
  if (publicExponent < 3n || publicExponent % 2n === 0n) throw new KeyProblem('e', 'not a usable RSA exponent');
  return key;
}

function ecKey({ crv, x, y }: JsonWebKey): KeyObject {
  if (crv !== 'P-256') throw new KeyProblem('crv', 'expected "P-256"');
  return publicKey({ kty: 'EC', crv, x, y }, 'x');
}

function publicKey(key: { [Member in keyof JsonWebKey]: JsonWebKey[Member] | undefined }, member: string): KeyObject {
  try {
    return createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
  } catch {
    throw new KeyProblem(member, `not an ${key.kty} public key`);
  }
}
