import { UnusableKeyError } from '../errors.ts';

/** The field of both curves: integers modulo 2^255 - 19. */
const prime = 2n ** 255n - 19n;
/** d of the curve -x^2 + y^2 = 1 + d x^2 y^2 (RFC 8032 § 5.1). */
const d = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = base % prime;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % prime;
    square = (square * square) % prime;
  }
  return result;
}

/**
 * The X25519 public key of an Ed25519 one: u = (1 + y) / (1 - y) (RFC 7748 § 4.1). For y = 1 the division by zero gives u = 0,
 * a point of small order, which callers refuse.
 */
export function publicKeyFromEd25519(publicKey: Uint8Array): Uint8Array {
  const top = publicKey.at(-1) ?? 0;
  // The top bit is the sign of x (RFC 8032 § 5.1.2); u does not depend on it.
  const isNegative = top >= 0x80;
  const y = littleEndian(publicKey.with(-1, top & 0x7f));
  // With several encodings of a point (RFC 8032 § 5.1.3), two equal keys would compare as different.
  if (y >= prime || !hasPoint(y, isNegative)) {
    throw new UnusableKeyError('invalid-key-format', 'the OpenSSH key is not an Ed25519 public key (RFC 8032)');
  }
  const inverse = power(1n - y + prime, prime - 2n);
  const u = ((1n + y) * inverse) % prime;
  return Uint8Array.from({ length: 32 }, (_, index) => Number((u >> BigInt(8 * index)) & 0xffn));
}

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((value, byte) => value * 256n + BigInt(byte), 0n);
}

/** Whether x^2 = (y^2 - 1) / (d y^2 + 1) has a root of that sign (RFC 8032 § 5.1.3). */
function hasPoint(y: bigint, isNegative: boolean): boolean {
  const numerator = (y * y - 1n + prime) % prime;
  if (numerator === 0n) return !isNegative;
  // The quotient is a square if the product is one (Euler's criterion).
  return power((numerator * (d * y * y + 1n)) % prime, (prime - 1n) / 2n) === 1n;
}
