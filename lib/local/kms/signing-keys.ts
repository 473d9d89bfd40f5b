import { createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { AwsError } from '../endpoint/errors.ts';
import { UnsupportedTemplateError } from '../errors.ts';
import type { Deployment } from '../template/deployment.ts';
import { whereOf } from '../template/template.ts';
import { signDigest } from './ecdsa.ts';

/** The keys of the template that sign, by ARN. They are kept in a file if one is named. */
export class SigningKeys {
  readonly #keys: Map<string, JsonWebKey>;
  readonly #file: string | undefined;

  /** @throws UnsupportedTemplateError for a signing key of another kind than ECC_NIST_P256 */
  constructor(deployment: Deployment, file: string | undefined) {
    const kept = file && existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, JsonWebKey>) : {};
    this.#keys = new Map(Object.entries(kept));
    this.#file = file;
    this.update(deployment);
  }

  /** Make the keys that are new in a deployment. @throws UnsupportedTemplateError as the constructor */
  update(deployment: Deployment): void {
    for (const resource of deployment.resources('AWS::KMS::Key')) {
      if (resource.property('KeyUsage') !== 'SIGN_VERIFY') continue;
      if (resource.property('KeySpec') !== 'ECC_NIST_P256') {
        throw new UnsupportedTemplateError(whereOf(resource), 'the local KMS signs with ECC_NIST_P256 only');
      }
      const arn = resource.attribute('Arn');
      if (!this.#keys.has(arn)) this.#keys.set(arn, newKey());
    }
    if (this.#file) writeFileSync(this.#file, JSON.stringify(Object.fromEntries(this.#keys)), { mode: 0o600 });
  }

  /** @param digest 32 bytes. @returns DER @throws AwsError NotFoundException */
  sign(arn: string, digest: Uint8Array): Uint8Array {
    return signDigest(digest, Buffer.from(String(this.#key(arn).d), 'base64url'));
  }

  /** @returns SubjectPublicKeyInfo, DER @throws AwsError NotFoundException */
  publicKey(arn: string): Uint8Array {
    const key = createPrivateKey({ key: this.#key(arn), format: 'jwk' });
    return createPublicKey(key).export({ format: 'der', type: 'spki' });
  }

  #key(arn: string): JsonWebKey {
    const key = this.#keys.get(arn);
    if (!key) throw new AwsError(400, 'NotFoundException', `Key '${arn}' does not exist`);
    return key;
  }
}

function newKey(): JsonWebKey {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
}
