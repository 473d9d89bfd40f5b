import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { signDigest } from '../../lib/local/kms/ecdsa.ts';
import { joseSignature, type ReceiptSigner } from '../../lib/service/stores/receipt-signer.ts';
import type { PortCalls } from './port-calls.ts';

/** A real key, which signs digests as KMS does. */
export class FakeSigner implements ReceiptSigner {
  readonly publicKey: KeyObject;
  readonly #secret: Buffer;
  readonly #calls: PortCalls;

  constructor(calls: PortCalls) {
    this.#calls = calls;
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.publicKey = pair.publicKey;
    this.#secret = Buffer.from(String(pair.privateKey.export({ format: 'jwk' }).d), 'base64url');
  }

  identity(): Promise<{ readonly kid: string }> {
    return this.#calls.run('signer.identity', () => ({ kid: 'key-1' }));
  }

  sign(digest: Uint8Array): Promise<Uint8Array> {
    return this.#calls.run('signer.sign', () => joseSignature(signDigest(digest, this.#secret)));
  }
}
