import { type UnverifiedClaims, unverifiedClaims } from '../contract/unverified-token.ts';
import { grantType } from '../contract/visa-type.ts';

/** A visa as its token says it. Nothing of it has been verified: only the service knows whose signatures it trusts. */
export interface DecodedVisa {
  readonly issuer: string;
  readonly subject: string;
  readonly expires: Date | undefined;
  readonly notBefore: Date | undefined;
  /** Such as `ControlledAccessGrants`. */
  readonly type: string;
  /** With `ControlledAccessGrants`: the dataset, by the name that the issuer has for it. */
  readonly value: string;
}

/** A token that is one visa, or a passport with several. Nothing of it has been verified. */
export interface DecodedToken {
  readonly kind: 'visa' | 'passport';
  /** Of the token itself. */
  readonly issuer: string;
  readonly expires: Date | undefined;
  readonly notBefore: Date | undefined;
  readonly visas: readonly DecodedVisa[];
  /** Tokens in a passport that are no visas. */
  readonly unreadable: number;
}

/** What the token says; `undefined` when it is neither a visa nor a passport. */
export function decodeVisaOrPassport(token: string): DecodedToken | undefined {
  const claims = unverifiedClaims(token);
  if (claims === undefined) return undefined;
  const about = { issuer: text(claims['iss']), expires: date(claims['exp']), notBefore: date(claims['nbf']) };
  const single = visaIn(claims);
  if (single) return { kind: 'visa', ...about, visas: [single], unreadable: 0 };
  const held: unknown = claims['ga4gh_passport_v1'];
  if (!Array.isArray(held)) return undefined;
  const visas = held.flatMap((each: unknown) => {
    const inner = typeof each === 'string' ? unverifiedClaims(each) : undefined;
    return (inner && visaIn(inner)) ?? [];
  });
  return { kind: 'passport', ...about, visas, unreadable: held.length - visas.length };
}

/** Datasets that the token names, each once, in their order. */
export function datasetsOf(token: DecodedToken): readonly string[] {
  const granted = token.visas.filter(({ type }) => type === grantType);
  return [...new Set(granted.map(({ value }) => value))];
}

/** When the last of it ends: a passport is of no use once it has expired, or all of its visas have. */
export function expiryOf({ expires, visas }: DecodedToken): Date | undefined {
  const ends = visas.flatMap((visa) => (visa.expires ? [visa.expires.getTime()] : []));
  const last = ends.length === 0 ? undefined : new Date(Math.max(...ends));
  if (expires === undefined || last === undefined) return expires ?? last;
  return expires < last ? expires : last;
}

function visaIn(claims: UnverifiedClaims): DecodedVisa | undefined {
  const visa: unknown = claims['ga4gh_visa_v1'];
  if (typeof visa !== 'object' || visa === null) return undefined;
  const { type, value } = visa as UnverifiedClaims;
  return {
    issuer: text(claims['iss']),
    subject: text(claims['sub']),
    expires: date(claims['exp']),
    notBefore: date(claims['nbf']),
    type: text(type),
    value: text(value),
  };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function date(seconds: unknown): Date | undefined {
  const made = typeof seconds === 'number' ? new Date(seconds * 1000) : undefined;
  return made && !Number.isNaN(made.getTime()) ? made : undefined;
}
