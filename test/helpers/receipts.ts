import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { crc64 } from 'hash-wasm';
import type { DeliveredFile, DeliveryReceipt } from '../../lib/contract/delivery.ts';

/** A service that signs receipts, as the standards say: by Node's own cryptography, not by the code under test. */
export class ReceiptSigner {
  readonly kid: string;
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;

  constructor(kid = 'key-1') {
    this.kid = kid;
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#privateKey = pair.privateKey;
    this.#publicKey = pair.publicKey;
  }

  /** The public key as a JWK (RFC 7517). */
  get jwk(): Record<string, unknown> {
    return { ...this.#publicKey.export({ format: 'jwk' }), kid: this.kid, alg: 'ES256', use: 'sig' };
  }

  get keySet() {
    return { keys: [this.jwk] };
  }

  /** A compact JWS with ES256 (RFC 7515 § 7.1, RFC 7518 § 3.4). */
  sign(payload: object | string, header: object = {}): Buffer {
    const all = { alg: 'ES256', typ: 'data-out-delivery+jwt', kid: this.kid, ...header };
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
    const input = [JSON.stringify(all), text].map((part) => Buffer.from(part).toString('base64url')).join('.');
    const signature = sign('sha256', Buffer.from(input), { key: this.#privateKey, dsaEncoding: 'ieee-p1363' });
    return Buffer.from(`${input}.${signature.toString('base64url')}`);
  }
}

/** A request id that ends in a number. */
export function requestId(number: number): string {
  return `0b5c0f4e-8a53-4d0e-9a44-${String(number).padStart(12, '0')}`;
}

/** The payload of a receipt of a whole delivery, with other members where given. */
export function receiptOf(
  files: readonly DeliveredFile[],
  others: Partial<DeliveryReceipt> = {},
): DeliveryReceipt & Record<string, unknown> {
  return {
    iss: 'org.example.data-out',
    iat: 1_790_000_000,
    jti: requestId(1),
    requested_at: '2026-09-21T10:00:00.000Z',
    generation: 1,
    dataset: 'EGAD00000000001',
    kind: 'dataset',
    key_fingerprint: 'ab'.repeat(32),
    complete: true,
    files,
    missing: [],
    ...others,
  };
}

/** What a receipt says of a container. @param plaintext `undefined`: the catalogue says nothing of it */
export async function deliveredFile(
  name: string,
  container: Uint8Array,
  options: { readonly plaintext?: Uint8Array; readonly headerBytes?: number } = {},
): Promise<DeliveredFile> {
  const { plaintext, headerBytes = 124 } = options;
  return {
    name,
    file_id: name.split('-')[0] ?? name,
    path: `/submitted/${name}`,
    size: container.length,
    ...(plaintext && { plaintext_size: plaintext.length, plaintext_sha256: sha256(plaintext) }),
    crc64nvme: Buffer.from(await crc64(container, '9a6c9329ac4bc9b5'), 'hex').toString('base64'),
    header_sha256: sha256(container.subarray(0, headerBytes)),
  };
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
