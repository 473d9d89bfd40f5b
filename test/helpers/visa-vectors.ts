import { readFileSync } from 'node:fs';

/** The token vectors of `test/vectors/visas`, and their policy as a trust list of this service. */

const folder = new URL('../vectors/visas/', import.meta.url);

export interface VisaVector {
  readonly id: string;
  readonly kind: 'visa' | 'passport' | 'userinfo' | 'access_token';
  readonly file: string;
  readonly request: { readonly dataset: string };
  readonly expected: {
    readonly decision: 'grant' | 'deny' | 'valid' | 'invalid' | 'either';
    readonly reason?: string;
    readonly also_reasons?: readonly string[];
    readonly preferred?: 'grant' | 'deny';
  };
}

interface Policy {
  readonly evaluation_time: number;
  readonly trusted_visa_issuers: readonly { readonly iss: string; readonly jku: string; readonly jwks: string }[];
  readonly trusted_passport_issuers: readonly { readonly iss: string; readonly jwks: string }[];
  readonly trusted_sources: readonly string[];
  readonly datasets: Readonly<Record<string, string>>;
}

export function readVector(file: string): string {
  return readFileSync(new URL(file, folder), 'utf8');
}

export const vectors = (JSON.parse(readVector('manifest.json')) as { entries: VisaVector[] }).entries;
export const policy = JSON.parse(readVector('policy.json')) as Policy;
export const evaluationTime = new Date(policy.evaluation_time * 1000);

/** The vectors live for decades: no limit but that of a `Date`. */
export const maxLifetimeSeconds = 8_640_000_000_000;

/** The policy as the content of `config/trusted-issuers.json`. */
export function vectorTrustList(datasetIdFrom: string) {
  const sources = policy.trusted_sources;
  const visaIssuers = policy.trusted_visa_issuers.map(({ iss, jku, jwks }) => {
    return { iss, jku, jwks: JSON.parse(readVector(jwks)), datasetIdFrom, sources, maxLifetimeSeconds };
  });
  const brokers = policy.trusted_passport_issuers.map(({ iss, jwks }) => {
    return { iss, jwks: JSON.parse(readVector(jwks)), issues: ['passports'], maxLifetimeSeconds };
  });
  return [...visaIssuers, ...brokers];
}
