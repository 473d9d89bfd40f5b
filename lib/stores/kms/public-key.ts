import { createPublicKey } from 'node:crypto';
import { GetPublicKeyCommand, type KMSClient } from '@aws-sdk/client-kms';
import { calculateJwkThumbprint } from 'jose';
import * as z from 'zod';
import { storeFailure } from '../aws-failure.ts';

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
 * @throws TemporarilyUnavailableError; ZodError for a key of another kind than ECC_NIST_P256
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
