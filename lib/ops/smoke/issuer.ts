import { readFile, writeFile } from 'node:fs/promises';
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import * as z from 'zod';
import { parseJson } from '../../common/untrusted-json.ts';
import { usageError } from '../../terminal/errors.ts';
import { issueVisa } from '../commands/local-issuer.ts';

/** `iss` of the test issuer. The name cannot exist in the DNS (RFC 2606). */
export const smokeIssuer = 'https://smoke-test.data-out.invalid/';

/** Seconds that a visa of the suite lives. */
const visaSeconds = 3600;
const text = z.string();
const issuerKey = z.object({ iss: text.min(1), kty: text, kid: text, alg: text, d: text });

/**
 * Make a key pair for the test issuer. The private key goes to a new file that its owner alone can read.
 *
 * @returns the entry for `private/trusted-issuers.json`
 * @throws EEXIST when the file exists
 */
export async function makeIssuer(file: string): Promise<object> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = await exportJWK(publicKey);
  const about = { alg: 'ES256', use: 'sig', kid: await calculateJwkThumbprint(jwk) };
  const secret = { iss: smokeIssuer, ...(await exportJWK(privateKey)), ...about };
  await writeFile(file, `${JSON.stringify(secret, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  const jwks = { keys: [{ ...jwk, ...about }] };
  return { iss: smokeIssuer, purpose: 'smoke-test', jwks, maxLifetimeSeconds: visaSeconds };
}

/** A visa for one dataset, by the issuer of a file that {@link makeIssuer} wrote. @throws UsageError for another file */
export async function smokeVisa(file: string, subject: string, datasetId: string, now: Date): Promise<string> {
  const found = issuerKey.safeParse(parseJson(await readFile(file, 'utf8')));
  if (!found.success) {
    throw usageError(
      '--issuer',
      `${file} is not a key of a test issuer`,
      'Make one: npm run smoke -- --make-issuer FILE',
    );
  }
  return await visaFor({ iss: found.data.iss, privateKeyPath: file }, subject, datasetId, now);
}

/** A visa for one dataset. @param issuer a private JWK lies at `privateKeyPath` */
export function visaFor(
  issuer: { readonly iss: string; readonly privateKeyPath: string },
  subject: string,
  datasetId: string,
  now: Date,
): Promise<string> {
  const expiresAt = new Date(now.getTime() + visaSeconds * 1000);
  return issueVisa(issuer, { subject, datasetIds: [datasetId], issuedAt: now, expiresAt });
}
