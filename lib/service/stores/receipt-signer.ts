import { createHash, createPublicKey } from 'node:crypto';
import { GetPublicKeyCommand, type KMSClient, SignCommand } from '@aws-sdk/client-kms';
import { calculateJwkThumbprint } from 'jose';
import * as z from 'zod';
import { endorsementType } from '../../contract/delivery.ts';
import { storeFailure } from './aws-failure.ts';

/** What a receipt says of the key that signs it, in its protected header. */
interface SignerIdentity {
  /** Thumbprint of the key (RFC 7638). */
  readonly kid: string;
  /** After a rotation: of each older key, oldest first, the signed statement that the next key comes after it. */
  readonly endorsements?: readonly string[];
}

/** Signs receipts: ES256 (RFC 7518 § 3.4). */
export interface ReceiptSigner {
  identity(): Promise<SignerIdentity>;
  /** @param digest SHA-256 of the JWS signing input. @returns the 64 bytes of r and s */
  sign(digest: Uint8Array): Promise<Uint8Array>;
}

/**
 * Signs receipts with the newest of some keys of KMS, which never leave it. Each older key endorses the next one.
 *
 * @param keyArns the newest last
 */
export function kmsReceiptSigner(client: Pick<KMSClient, 'send'>, keyArns: readonly string[]): ReceiptSigner {
  let known: Promise<SignerIdentity> | undefined;

  async function findIdentity(): Promise<SignerIdentity> {
    const kids: string[] = [];
    for (const keyArn of keyArns) kids.push((await signingJwk(client, keyArn)).kid);
    const kid = kids.at(-1) ?? '';
    if (kids.length <= 1) return { kid };
    const endorsements: string[] = [];
    for (const [index, next] of kids.slice(1).entries()) {
      const header = { alg: 'ES256', typ: endorsementType, kid: kids[index] };
      const payload = Buffer.from(JSON.stringify({ jkt: next }));
      endorsements.push(String(await compactJws(header, payload, (digest) => signBy(keyArns[index], digest))));
    }
    return { kid, endorsements };
  }

  async function signBy(KeyId: string | undefined, Message: Uint8Array): Promise<Uint8Array> {
    const command = new SignCommand({ KeyId, Message, MessageType: 'DIGEST', SigningAlgorithm: 'ECDSA_SHA_256' });
    try {
      return joseSignature((await client.send(command)).Signature ?? new Uint8Array());
    } catch (error) {
      throw storeFailure(error, 'KMS');
    }
  }

  return {
    /** Found once: it never changes. */
    identity() {
      known ??= findIdentity().catch((error: unknown) => {
        known = undefined;
        throw error;
      });
      return known;
    },
    sign: (digest) => signBy(keyArns.at(-1), digest),
  };
}

const integerBytes = 32;

/**
 * The 64 bytes of r and s that a JWS carries (RFC 7518 § 3.4), from the form in which KMS gives a P-256 signature: DER of
 * `SEQUENCE { r INTEGER, s INTEGER }` (RFC 3279 § 2.2.3).
 *
 * @throws TypeError for anything but the one DER encoding of two positive integers of at most 32 bytes
 */
export function joseSignature(der: Uint8Array): Uint8Array {
  const [tag, length] = der;
  // Two integers have at most 70 bytes, so the length is one byte.
  if (tag !== 0x30 || length !== der.length - 2 || length > 0x7f) throw malformed();
  const first = integerAt(der, 2);
  const second = integerAt(der, first.end);
  if (second.end !== der.length) throw malformed();
  const signature = new Uint8Array(2 * integerBytes);
  signature.set(first.value, integerBytes - first.value.length);
  signature.set(second.value, 2 * integerBytes - second.value.length);
  return signature;
}

/** The magnitude of the INTEGER at `start`, and where it ends. */
function integerAt(der: Uint8Array, start: number): { readonly value: Uint8Array; readonly end: number } {
  const [tag, length = 0] = der.subarray(start, start + 2);
  const content = der.subarray(start + 2, start + 2 + length);
  const [first = 0, second = 0] = content;
  if (tag !== 0x02 || length === 0 || content.length !== length) throw malformed();
  // Negative, or a zero byte that no sign bit asks for (X.690 § 8.3.2); zero itself is not part of a signature.
  if (first >= 0x80 || (first === 0 && second < 0x80)) throw malformed();
  const value = first === 0 ? content.subarray(1) : content;
  if (value.length > integerBytes) throw malformed();
  return { value, end: start + 2 + length };
}

function malformed(): TypeError {
  return new TypeError('KMS gave a signature that is not the DER of two integers of P-256');
}

const publicJwk = z.object({ kty: z.literal('EC'), crv: z.literal('P-256'), x: z.string(), y: z.string() });

/** The public part of a signing key, as a JWK (RFC 7517). */
export interface SigningJwk extends z.infer<typeof publicJwk> {
  /** SHA-256 thumbprint of the key (RFC 7638), base64url. */
  readonly kid: string;
  readonly use: 'sig';
  readonly alg: 'ES256';
}

/**
 * The public part of a signing key in KMS.
 *
 * @throws ZodError for a key of another kind than ECC_NIST_P256
 */
export async function signingJwk(client: Pick<KMSClient, 'send'>, keyArn: string): Promise<SigningJwk> {
  try {
    const { PublicKey: spki } = await client.send(new GetPublicKeyCommand({ KeyId: keyArn }));
    const key = createPublicKey({ key: Buffer.from(spki ?? []), format: 'der', type: 'spki' });
    const jwk = publicJwk.parse(key.export({ format: 'jwk' }));
    return { ...jwk, kid: await calculateJwkThumbprint(jwk, 'sha256'), use: 'sig', alg: 'ES256' };
  } catch (error) {
    throw storeFailure(error, 'KMS');
  }
}

/** Bytes that are encoded at once: a multiple of three, so that the pieces of base64url fit together. */
const encodedAtOnce = 3 * 2 ** 18;
/** A dot and the base64url of an ES256 signature. */
const signatureLength = 1 + 86;

/**
 * A JWS in compact form (RFC 7515 § 7.1), written into one buffer.
 *
 * @param sign makes the ES256 signature of a SHA-256 digest
 */
export async function compactJws(
  header: object,
  payload: Buffer,
  sign: (digest: Uint8Array) => Promise<Uint8Array>,
): Promise<Buffer> {
  const encodedHeader = Buffer.from(JSON.stringify(header)).toString('base64url');
  const jws = Buffer.alloc(encodedHeader.length + 1 + Math.ceil((payload.length * 4) / 3) + signatureLength);
  let end = jws.write(`${encodedHeader}.`, 'latin1');
  for (let from = 0; from < payload.length; from += encodedAtOnce) {
    end += jws.write(payload.toString('base64url', from, from + encodedAtOnce), end, 'latin1');
  }
  const signature = await sign(createHash('sha256').update(jws.subarray(0, end)).digest());
  end += jws.write(`.${Buffer.from(signature).toString('base64url')}`, end, 'latin1');
  return jws.subarray(0, end);
}
