import { createDecipheriv, createHash, createPrivateKey, createPublicKey, diffieHellman } from 'node:crypto';
import { applyPlainly } from './edit-lists.ts';

/**
 * Reads Crypt4GH step by step as the standard says, without our library. Our containers are compared with it where no
 * other implementation is at hand.
 *
 * @returns the plaintext that the reader with this private key gets
 */
export function readPlainly(container: Uint8Array, privateKey: Uint8Array): Buffer {
  const bytes = Buffer.from(container);
  // § 2.2: magic, version, packet count.
  if (bytes.toString('latin1', 0, 8) !== 'crypt4gh' || bytes.readUInt32LE(8) !== 1) throw new Error('no container');
  const dataKeys: Buffer[] = [];
  let editList: bigint[] | undefined;
  let at = 16;
  for (let packets = bytes.readUInt32LE(12); packets > 0; packets -= 1) {
    const length = bytes.readUInt32LE(at);
    const payload = openPacket(bytes.subarray(at + 4, at + length), privateKey);
    at += length;
    if (payload === undefined) continue;
    // § 3.2.3: data key; § 3.2.4: edit list.
    if (payload.readUInt32LE(0) === 0) dataKeys.push(payload.subarray(8, 40));
    else if (editList !== undefined) throw new Error('two edit lists');
    else {
      const count = payload.readUInt32LE(4);
      editList = Array.from({ length: count }, (_, index) => payload.readBigUInt64LE(8 + 8 * index));
    }
  }
  if (dataKeys.length === 0) throw new Error('not for this reader');
  const segments: Buffer[] = [];
  for (; at < bytes.length; at += 65_564) {
    const segment = bytes.subarray(at, at + 65_564);
    const opened = dataKeys.map((key) => openSealed(segment, key)).find((plain) => plain !== undefined);
    if (opened === undefined) throw new Error('a segment does not open');
    segments.push(opened);
  }
  return applyPlainly(Buffer.concat(segments), editList ?? []);
}

/** § 3.3: method, writer's public key, nonce, sealed payload. */
function openPacket(packet: Buffer, privateKey: Uint8Array): Buffer | undefined {
  if (packet.length < 64 || packet.readUInt32LE(0) !== 0) return undefined;
  const own = createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b656e04220420', 'hex'), privateKey]),
    format: 'der',
    type: 'pkcs8',
  });
  const ownPublic = Buffer.from(createPublicKey(own).export({ format: 'jwk' }).x ?? '', 'base64url');
  const writer = packet.subarray(4, 36);
  const theirs = createPublicKey({
    key: { kty: 'OKP', crv: 'X25519', x: writer.toString('base64url') },
    format: 'jwk',
  });
  const shared = diffieHellman({ privateKey: own, publicKey: theirs });
  const key = createHash('blake2b512').update(shared).update(ownPublic).update(writer).digest().subarray(0, 32);
  return openSealed(packet.subarray(36), key);
}

/** Nonce (12), ciphertext, MAC (16); `undefined` when the MAC is wrong. */
function openSealed(sealed: Buffer, key: Buffer): Buffer | undefined {
  const cipher = createDecipheriv('chacha20-poly1305', key, sealed.subarray(0, 12), { authTagLength: 16 });
  cipher.setAuthTag(sealed.subarray(-16));
  const plain = cipher.update(sealed.subarray(12, -16));
  try {
    cipher.final();
    return plain;
  } catch {
    return undefined;
  }
}
