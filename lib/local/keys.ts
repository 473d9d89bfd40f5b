import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import { formatPrivateKey, formatPublicKey, generateKeyPair as generateCrypt4ghKeyPair } from '../crypt4gh/index.ts';

/** `iss` of the issuer that only a local engine trusts; the name cannot exist in the DNS (RFC 2606). */
export const localIssuer = 'https://issuer.data-out.test/';

/** Key files of one engine. */
export interface KeyFiles {
  /** Public keys of the local issuer: a JWK set. */
  readonly jwksPath: string;
  /** Private key of the local issuer: a JWK with `alg` and `kid`. */
  readonly issuerPrivateKeyPath: string;
  /** The archive's public key, Crypt4GH PEM. */
  readonly archivePublicKeyPath: string;
  /** The archive's private key, Crypt4GH PEM without a passphrase; it goes into the archive keys' secret. */
  readonly archivePrivateKey: string;
}

/** Keys of the local issuer (ES256) and of the archive (X25519); made once, and found again later. */
export async function prepareKeys(directory: string): Promise<KeyFiles> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const jwksPath = join(directory, 'issuer-jwks.json');
  const issuerPrivateKeyPath = join(directory, 'issuer-private-key.json');
  const archivePublicKeyPath = join(directory, 'archive.pub.pem');
  const archivePrivateKeyPath = join(directory, 'archive.sec.pem');
  if (!existsSync(issuerPrivateKeyPath)) {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const publicJwk = await exportJWK(publicKey);
    const about = { alg: 'ES256', use: 'sig', kid: await calculateJwkThumbprint(publicJwk) };
    writeJson(jwksPath, { keys: [{ ...publicJwk, ...about }] });
    writeJson(issuerPrivateKeyPath, { ...(await exportJWK(privateKey)), ...about });
  }
  if (!existsSync(archivePrivateKeyPath)) {
    const { privateKey, publicKey } = generateCrypt4ghKeyPair();
    writeFileSync(archivePublicKeyPath, formatPublicKey(publicKey));
    writeFileSync(archivePrivateKeyPath, await formatPrivateKey(privateKey), { mode: 0o600 });
  }
  const archivePrivateKey = readFileSync(archivePrivateKeyPath, 'utf8');
  return { jwksPath, issuerPrivateKeyPath, archivePublicKeyPath, archivePrivateKey };
}

/**
 * The trusted issuers' file for this machine: what the operator wrote, and the local issuer for visas and passports.
 *
 * @param bundled the file in the bundle
 */
export function withLocalIssuer(bundled: string, { jwksPath }: KeyFiles): string {
  const issuers = JSON.parse(bundled) as unknown[];
  const jwks: unknown = JSON.parse(readFileSync(jwksPath, 'utf8'));
  const issuer = { iss: localIssuer, jwks, issues: ['visas', 'passports'], datasetIdFrom: 'value' };
  return JSON.stringify([...issuers, issuer]);
}

function writeJson(path: string, value: unknown): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
}
