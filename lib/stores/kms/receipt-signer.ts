import { type KMSClient, SignCommand } from '@aws-sdk/client-kms';
import type { ReceiptSigner } from '../../export/receipt/ports.ts';
import { storeFailure } from '../aws-failure.ts';
import { joseSignature } from './ecdsa-signature.ts';
import { signingJwk } from './public-key.ts';

/** Signs receipts with a key of KMS, which never leaves it. */
export class KmsReceiptSigner implements ReceiptSigner {
  readonly #client: Pick<KMSClient, 'send'>;
  readonly #keyArn: string;
  #keyId: Promise<string> | undefined;

  constructor(options: { readonly client: Pick<KMSClient, 'send'>; readonly keyArn: string }) {
    this.#client = options.client;
    this.#keyArn = options.keyArn;
  }

  /** Asked for once: the public part of a key never changes. */
  keyId(): Promise<string> {
    this.#keyId ??= signingJwk(this.#client, this.#keyArn).then(
      ({ kid }) => kid,
      (error: unknown) => {
        this.#keyId = undefined;
        throw error;
      },
    );
    return this.#keyId;
  }

  async sign(digest: Uint8Array): Promise<Uint8Array> {
    try {
      const { Signature: der = new Uint8Array() } = await this.#client.send(
        new SignCommand({
          KeyId: this.#keyArn,
          Message: digest,
          MessageType: 'DIGEST',
          SigningAlgorithm: 'ECDSA_SHA_256',
        }),
      );
      return joseSignature(der);
    } catch (error) {
      throw storeFailure(error, 'KMS');
    }
  }
}
