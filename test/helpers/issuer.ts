import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose';
import { type DenyListEntry, denyListOf } from '../../lib/contract/deny-list.ts';
import { parseTrustedIssuers, type TrustedIssuers, type VisaRules, visaRules } from '../../lib/visas/index.ts';

export interface TestIssuerOptions {
  /** Default `https://issuer.example.org`. */
  readonly iss?: string;
  /** Default ES256, the faster one to make a key for. */
  readonly alg?: 'ES256' | 'RS256';
  /** Default `key-1`. */
  readonly kid?: string;
  /** More fields of its entry in the trust list, such as `issues`, `datasetIdFrom`, `sources`, `by`. */
  readonly entry?: Readonly<Record<string, unknown>>;
}

export interface VisaChoices {
  readonly sub?: string;
  /** The `value` of the visa, with `datasetIdFrom: value` the dataset id. */
  readonly dataset?: string;
  /** Seconds since 1970. Defaults: `iat` and `asserted` 2026-01-01, `exp` 2096-01-01. */
  readonly iat?: number;
  readonly exp?: number;
  /** Over and above the claims made from the other choices; `undefined` leaves a claim out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** As `claims`, inside `ga4gh_visa_v1`. */
  readonly visa?: Readonly<Record<string, unknown>>;
  /** As `claims`, in the protected header. */
  readonly header?: Readonly<Record<string, unknown>>;
}

/** An issuer of visas and passports with its own key pair. It signs whatever a test asks for. */
export interface TestIssuer {
  readonly iss: string;
  readonly kid: string;
  readonly jwks: { readonly keys: readonly JWK[] };
  /** Its entry in `config/trusted-issuers.json`: trusted for visas and passports unless the options say otherwise. */
  readonly entry: Readonly<Record<string, unknown>>;
  /** A trust list with this issuer alone. */
  readonly trusted: TrustedIssuers;
  /** A ControlledAccessGrants visa in document form. */
  visa(choices?: VisaChoices): Promise<string>;
  /** A passport that holds visas, or anything else that a test puts there. */
  passport(visas: unknown, choices?: Omit<VisaChoices, 'visa' | 'dataset'>): Promise<string>;
  /** Any claims under any header; `kid` and `alg` of the key unless the header says otherwise. */
  sign(claims: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): Promise<string>;
}

export const issuedAt = Date.UTC(2026, 0, 1) / 1000;
export const expiresAt = Date.UTC(2096, 0, 1) / 1000;
/** Default lifetime of a token. */
const seventyYears = expiresAt - issuedAt;

/** An empty deny list. */
export const denied = denyListOf({ denied: [] });

/** The rules of a service that trusts this issuer. */
export function rulesOf(
  issuer: Pick<TestIssuer, 'trusted'>,
  now: () => Date,
  entries: readonly DenyListEntry[] = [],
): VisaRules {
  const list = denyListOf({ denied: [...entries] });
  return visaRules({ issuers: issuer.trusted, denied: async () => list, now });
}

export async function makeTestIssuer(options: TestIssuerOptions = {}): Promise<TestIssuer> {
  const { iss = 'https://issuer.example.org', alg = 'ES256', kid = 'key-1' } = options;
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }] };
  const usual = { issues: ['visas', 'passports'], datasetIdFrom: 'value', maxLifetimeSeconds: seventyYears };
  const entry = { iss, jwks, ...usual, ...options.entry };
  const sign: TestIssuer['sign'] = (claims, header = {}) => signWith(privateKey, claims, { alg, kid, ...header });

  return {
    iss,
    kid,
    jwks,
    entry,
    trusted: parseTrustedIssuers([entry]),
    sign,
    visa: ({ sub = 'researcher-1', dataset = 'EGAD90000000001', iat = issuedAt, exp = expiresAt, ...more } = {}) => {
      const visa = {
        type: 'ControlledAccessGrants',
        asserted: issuedAt,
        value: dataset,
        source: `${iss}/dac`,
        by: 'dac',
      };
      return sign(
        { iss, sub, iat, exp, ga4gh_visa_v1: { ...visa, ...more.visa }, ...more.claims },
        { typ: 'vnd.ga4gh.visa+jwt', jku: `${iss}/jwks.json`, ...more.header },
      );
    },
    passport: (visas, { sub = 'researcher-1', iat = issuedAt, exp = expiresAt, claims, header } = {}) =>
      sign({ iss, sub, iat, exp, ga4gh_passport_v1: visas, ...claims }, { typ: 'vnd.ga4gh.passport+jwt', ...header }),
  };
}

function signWith(
  key: CryptoKey,
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>>,
) {
  return new SignJWT({ ...claims }).setProtectedHeader({ ...header } as JWTHeaderParameters).sign(key);
}
