import { createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type BufferedService, type JsonObject, jsonService } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import { UnsupportedTemplateError } from '../errors.ts';
import type { Deployment } from '../template/deployment.ts';
import { whereOf } from '../template/template.ts';
import { signDigest } from './ecdsa.ts';

const algorithm = 'ECDSA_SHA_256';

/**
 * KMS, as far as this service and its tools call it: it signs digests and gives public keys.
 * Keys are named by their ARNs.
 */
export function kms(keys: SigningKeys): BufferedService {
  const resource = ({ KeyId }: JsonObject) => String(KeyId);
  return jsonService(
    { target: 'TrentService', prefix: 'kms' },
    {
      Sign: { resource, run: (input) => sign(keys, input) },
      GetPublicKey: {
        resource,
        run: ({ KeyId }) => ({ KeyId, PublicKey: Buffer.from(keys.publicKey(String(KeyId))).toString('base64') }),
      },
    },
  );
}

function sign(keys: SigningKeys, input: JsonObject): JsonObject {
  const { KeyId: arn, Message: message, MessageType: type, SigningAlgorithm: wanted } = input;
  const digest = Buffer.from(String(message), 'base64');
  if (wanted !== algorithm || type !== 'DIGEST') {
    throw new AwsError(400, 'ValidationException', `the local KMS signs a DIGEST by ${algorithm} only`);
  }
  if (digest.length !== 32) {
    throw new AwsError(400, 'ValidationException', `Digest is invalid length for algorithm ${algorithm}.`);
  }
  const signature = keys.sign(String(arn), digest);
  return { KeyId: arn, Signature: Buffer.from(signature).toString('base64'), SigningAlgorithm: algorithm };
}

/** The keys of the template that sign, by ARN. They are kept in a file if one is named. */
export class SigningKeys {
  readonly #keys: Map<string, JsonWebKey>;

  /** @throws UnsupportedTemplateError for a signing key of another kind than ECC_NIST_P256 */
  constructor(deployment: Deployment, file: string | undefined) {
    const kept = file && existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, JsonWebKey>) : {};
    this.#keys = new Map(Object.entries(kept));
    for (const resource of deployment.resources('AWS::KMS::Key')) {
      if (resource.property('KeyUsage') !== 'SIGN_VERIFY') continue;
      if (resource.property('KeySpec') !== 'ECC_NIST_P256') {
        throw new UnsupportedTemplateError(whereOf(resource), 'the local KMS signs with ECC_NIST_P256 only');
      }
      const arn = resource.attribute('Arn');
      if (!this.#keys.has(arn)) this.#keys.set(arn, newKey());
    }
    if (file) writeFileSync(file, JSON.stringify(Object.fromEntries(this.#keys)), { mode: 0o600 });
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
