import { type UnverifiedClaims, unverifiedClaims } from '../../../common/untrusted-json.ts';
import { grantType } from '../../../contract/reasons.ts';

/** The claims of a visa. Not verified: only the service knows which issuers it trusts. */
export type DecodedVisa = Readonly<NonNullable<ReturnType<typeof visaIn>>>;

/** The claims of a visa, or of a passport with several visas. Not verified. */
export interface DecodedToken {
  readonly kind: 'visa' | 'passport';
  /** Of the token itself. */
  readonly issuer: string;
  readonly expires: Date | undefined;
  readonly notBefore: Date | undefined;
  readonly visas: readonly DecodedVisa[];
  /** Number of tokens in a passport that are not visas. */
  readonly unreadable: number;
}

/** Decodes a token; `undefined` for a token that is neither a visa nor a passport. */
export function decodeVisaOrPassport(token: string): DecodedToken | undefined {
  const claims = unverifiedClaims(token);
  if (claims === undefined) return undefined;
  const about = { issuer: text(claims.iss), expires: date(claims.exp), notBefore: date(claims.nbf) };
  const single = visaIn(token, claims);
  if (single) return { kind: 'visa', ...about, visas: [single], unreadable: 0 };
  const tokens: unknown = claims.ga4gh_passport_v1;
  if (!Array.isArray(tokens)) return undefined;
  const visas = visasAmong(tokens);
  return { kind: 'passport', ...about, visas, unreadable: tokens.length - visas.length };
}

/** Datasets that the token names, each once, in their order. */
export function datasetsOf({ visas }: Pick<DecodedToken, 'visas'>): readonly string[] {
  const granted = visas.filter(({ type }) => type === grantType);
  return [...new Set(granted.map(({ value }) => value))];
}

/** Whom the token is about, if all of its visas are about one person. A subject is unique only for its issuer. */
export function subjectOf({ visas }: DecodedToken): string | undefined {
  const people = new Set(visas.map(({ issuer, subject }) => JSON.stringify([issuer, subject])));
  return people.size === 1 && visas[0]?.subject !== '' ? visas[0]?.subject : undefined;
}

/** When the token stops being of use: a passport when it expires, or when the last of its visas does. */
export function expiryOf({ expires, visas }: Pick<DecodedToken, 'expires' | 'visas'>): Date | undefined {
  const ends = visas.flatMap((visa) => (visa.expires ? [visa.expires.getTime()] : []));
  const last = ends.length === 0 ? undefined : new Date(Math.max(...ends));
  if (expires === undefined || last === undefined) return expires ?? last;
  return expires < last ? expires : last;
}

/** The visas among tokens, in their order. */
export function visasAmong(tokens: readonly unknown[]): DecodedVisa[] {
  return tokens.flatMap((each) => {
    const claims = typeof each === 'string' ? unverifiedClaims(each) : undefined;
    return (claims && visaIn(each as string, claims)) || [];
  });
}

function visaIn(token: string, claims: UnverifiedClaims) {
  const visa: unknown = claims.ga4gh_visa_v1;
  if (typeof visa !== 'object' || visa === null) return undefined;
  const { type, value, source, conditions = [] } = visa as UnverifiedClaims;
  return {
    token,
    issuer: text(claims.iss),
    subject: text(claims.sub),
    expires: date(claims.exp),
    notBefore: date(claims.nbf),
    /** Such as `ControlledAccessGrants`. */
    type: text(type),
    /** With `ControlledAccessGrants`: the issuer's name of the dataset. */
    value: text(value),
    /** Who grants it: the address of an organisation. */
    source: text(source),
    /** Whether it can grant only together with other visas. */
    hasConditions: !Array.isArray(conditions) || conditions.length > 0,
  };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function date(seconds: unknown): Date | undefined {
  const made = typeof seconds === 'number' ? new Date(seconds * 1000) : undefined;
  return made && !Number.isNaN(made.getTime()) ? made : undefined;
}
