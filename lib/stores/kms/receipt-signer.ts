import { createHash } from 'node:crypto';
import { type KMSClient, SignCommand } from '@aws-sdk/client-kms';
import { endorsementType } from '../../contract/delivery.ts';
import type { ReceiptSigner, SignerIdentity } from '../../export/receipt/ports.ts';
import { storeFailure } from '../aws-failure.ts';
import { joseSignature } from './ecdsa-signature.ts';
import { signingJwk } from './public-key.ts';

/** Signs receipts with the newest of some keys of KMS, which never leave it. Each older key endorses the next one. */
export class KmsReceiptSigner implements ReceiptSigner {
  readonly #client: Pick<KMSClient, 'send'>;
  readonly #keyArns: readonly string[];
  #identity: Promise<SignerIdentity> | undefined;

  /** @param options.keyArns the newest last */
  constructor(options: { readonly client: Pick<KMSClient, 'send'>; readonly keyArns: readonly string[] }) {
    this.#client = options.client;
    this.#keyArns = options.keyArns;
  }

  /** Found once: it never changes. */
  identity(): Promise<SignerIdentity> {
    this.#identity ??= this.#findIdentity().catch((error: unknown) => {
      this.#identity = undefined;
      throw error;
    });
    return this.#identity;
  }

  sign(digest: Uint8Array): Promise<Uint8Array> {
    return this.#signBy(this.#keyArns.at(-1), digest);
  }

  async #findIdentity(): Promise<SignerIdentity> {
    const kids: string[] = [];
    for (const keyArn of this.#keyArns) kids.push((await signingJwk(this.#client, keyArn)).kid);
    const kid = kids.at(-1) ?? '';
    if (kids.length <= 1) return { kid };
    const endorsements: string[] = [];
    for (const [index, next] of kids.slice(1).entries()) {
      const parts = [{ alg: 'ES256', typ: endorsementType, kid: kids[index] }, { jkt: next }];
      const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
      const signature = await this.#signBy(this.#keyArns[index], createHash('sha256').update(signed).digest());
      endorsements.push(`${signed}.${Buffer.from(signature).toString('base64url')}`);
    }
    return { kid, endorsements };
  }

  async #signBy(keyArn: string | undefined, digest: Uint8Array): Promise<Uint8Array> {
    try {
      const { Signature: der = new Uint8Array() } = await this.#client.send(
        new SignCommand({
          KeyId: keyArn,
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
