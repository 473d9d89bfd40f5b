import { createECDH, randomBytes } from 'node:crypto';

/** Order of the base point of P-256 (SP 800-186 § 3.2.1.3). */
const order = 0xffffffff_00000000_ffffffff_ffffffff_bce6faad_a7179e84_f3b9cac2_fc632551n;

/**
 * An ECDSA signature (FIPS 186-5 § 6.4.1) over P-256 of a digest, in DER. Node's own `sign` hashes what it gets, so it cannot
 * sign a digest as KMS does. OpenSSL multiplies the point; the rest is modular arithmetic. Its time depends on the secret, which
 * is good enough for keys of one machine.
 *
 * @param digest 32 bytes
 * @param privateKey 32 bytes
 */
export function signDigest(digest: Uint8Array, privateKey: Uint8Array): Uint8Array {
  for (;;) {
    const nonce = integer(randomBytes(32));
    if (nonce === 0n || nonce >= order) continue;
    const point = createECDH('prime256v1');
    point.setPrivateKey(bytes(nonce));
    const r = integer(point.getPublicKey().subarray(1, 33)) % order;
    const s = (inverse(nonce) * ((integer(digest) + r * integer(privateKey)) % order)) % order;
    if (r === 0n || s === 0n) continue;
    const content = Buffer.concat([r, s].map(derInteger));
    return Buffer.concat([Buffer.of(0x30, content.length), content]);
  }
}

const integer = (value: Uint8Array): bigint => BigInt(`0x${Buffer.from(value).toString('hex')}`);
const bytes = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, '0'), 'hex');

/** By Fermat's little theorem: the order is prime. */
function inverse(value: bigint): bigint {
  let result = 1n;
  let square = value;
  for (let exponent = order - 2n; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = (result * square) % order;
    square = (square * square) % order;
  }
  return result;
}

/** X.690 § 8.3: as short as possible, with a zero byte before a first bit that would mean a negative number. */
function derInteger(value: bigint): Buffer {
  const hex = value.toString(16);
  const magnitude = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  const content = magnitude.readUInt8() < 0x80 ? magnitude : Buffer.concat([Buffer.of(0), magnitude]);
  return Buffer.concat([Buffer.of(0x02, content.length), content]);
}
