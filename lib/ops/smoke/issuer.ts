import { readFile, writeFile } from 'node:fs/promises';
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import * as z from 'zod';
import { parseJson } from '../../common/untrusted-json.ts';
import type { Connection } from '../../contract/connection.ts';
import { usageError } from '../../terminal/errors.ts';
import { issueVisa } from '../commands/local-issuer.ts';

/** `iss` of the test issuer. The name cannot exist in the DNS (RFC 2606). */
const smokeIssuer = 'https://smoke-test.data-out.invalid/';
/** Seconds that a visa of the suite lives. */
const visaSeconds = 3600;
const text = z.string();
const issuerKey = z.object({ iss: text.min(1), kty: text, kid: text, alg: text, d: text });

/** Signs a visa for one dataset, which lives for an hour from a date on. */
export type IssueVisa = (subject: string, datasetId: string, issuedAt: Date) => Promise<string>;

/**
 * Make a key pair for the test issuer. The private key goes to a new file that its owner alone can read.
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

/** The issuer of a file that {@link makeIssuer} wrote. @throws UsageError for another file */
export async function readIssuer(file: string): Promise<Pick<Connection['issuer'], 'iss' | 'privateKeyPath'>> {
  const found = issuerKey.safeParse(parseJson(await readFile(file, 'utf8')));
  const remedy = 'Make one: npm run smoke -- --make-issuer FILE';
  if (!found.success) throw usageError('--issuer', `${file} is not a key of a test issuer`, remedy);
  return { iss: found.data.iss, privateKeyPath: file };
}

/** @param issuer a private JWK lies at `privateKeyPath` */
export function visasBy(issuer: Pick<Connection['issuer'], 'iss' | 'privateKeyPath'>): IssueVisa {
  return (subject, datasetId, issuedAt) => {
    const expiresAt = new Date(issuedAt.getTime() + visaSeconds * 1000);
    return issueVisa(issuer, { subject, datasetIds: [datasetId], issuedAt, expiresAt });
  };
}
