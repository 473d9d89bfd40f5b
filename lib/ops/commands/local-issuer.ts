import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { importJWK, type JWTPayload, SignJWT } from 'jose';
import * as z from 'zod';
import type { Connection } from '../../contract/connection.ts';
import { grantType } from '../../contract/reasons.ts';

/** A private key of the local issuer, as JWK. */
const signingKey = z.looseObject({ kty: z.string(), alg: z.enum(['RS256', 'ES256']), kid: z.string().min(1) });

/**
 * Sign a visa or passport with the key of the issuer that only this local engine trusts.
 * @param claims `subject` is the claim `sub`
 * @returns the token: a `ga4gh_visa_v1` JWT for one dataset, or a `ga4gh_passport_v1` JWT with one visa for each of several
 */
export async function issueVisa(
  issuer: Pick<Connection['issuer'], 'iss' | 'privateKeyPath'>,
  claims: Record<'issuedAt' | 'expiresAt', Date> & { readonly subject: string; readonly datasetIds: readonly string[] },
): Promise<string> {
  const { subject, datasetIds, issuedAt, expiresAt } = claims;
  const jwk = signingKey.parse(JSON.parse(await readFile(issuer.privateKeyPath, 'utf8')));
  const key = await importJWK(jwk, jwk.alg);
  const sign = (typ: string, payload: JWTPayload) =>
    new SignJWT({ ...payload, jti: randomUUID() })
      .setProtectedHeader({ typ, alg: jwk.alg, kid: jwk.kid })
      .setIssuer(issuer.iss)
      .setSubject(subject)
      .setIssuedAt(issuedAt)
      .setExpirationTime(expiresAt)
      .sign(key);

  const asserted = Math.floor(issuedAt.getTime() / 1000);
  const visaFor = (value: string) =>
    sign('vnd.ga4gh.visa+jwt', {
      ga4gh_visa_v1: { type: grantType, asserted, value, source: issuer.iss, by: 'dac' },
    });
  const visas = await Promise.all(datasetIds.map(visaFor));
  const [visa] = visas;
  if (visa !== undefined && visas.length === 1) return visa;
  return await sign('vnd.ga4gh.passport+jwt', { ga4gh_passport_v1: visas });
}
