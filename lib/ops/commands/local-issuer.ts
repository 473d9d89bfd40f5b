import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { importJWK, type JWTPayload, SignJWT } from 'jose';
import * as z from 'zod';
import type { Connection } from '../../contract/connection.ts';
import { grantType } from '../../contract/reasons.ts';

/** A private key of the local issuer, as JWK. */
const signingKey = z.looseObject({ kty: z.string(), alg: z.enum(['RS256', 'ES256']), kid: z.string().min(1) });

export interface VisaRequest {
  /** The claim `sub`. */
  readonly subject: string;
  /** One dataset makes a visa. Several make a passport with one visa each. */
  readonly datasetIds: readonly string[];
  readonly issuedAt: Date;
  readonly expiresAt: Date;
}

/**
 * Sign a visa or passport with the key of the issuer that only this local engine trusts.
 * @returns the token: a `ga4gh_visa_v1` JWT, or a `ga4gh_passport_v1` JWT for other than one dataset
 */
export async function issueVisa(
  issuer: Pick<Connection['issuer'], 'iss' | 'privateKeyPath'>,
  request: VisaRequest,
): Promise<string> {
  const jwk = signingKey.parse(JSON.parse(await readFile(issuer.privateKeyPath, 'utf8')));
  const key = await importJWK(jwk, jwk.alg);
  const sign = (typ: string, claims: JWTPayload) =>
    new SignJWT({ ...claims, jti: randomUUID() })
      .setProtectedHeader({ typ, alg: jwk.alg, kid: jwk.kid })
      .setIssuer(issuer.iss)
      .setSubject(request.subject)
      .setIssuedAt(request.issuedAt)
      .setExpirationTime(request.expiresAt)
      .sign(key);

  const asserted = Math.floor(request.issuedAt.getTime() / 1000);
  const visas = await Promise.all(
    request.datasetIds.map((value) =>
      sign('vnd.ga4gh.visa+jwt', {
        ga4gh_visa_v1: { type: grantType, asserted, value, source: issuer.iss, by: 'dac' },
      }),
    ),
  );
  const [visa] = visas;
  if (visa !== undefined && visas.length === 1) return visa;
  return await sign('vnd.ga4gh.passport+jwt', { ga4gh_passport_v1: visas });
}
