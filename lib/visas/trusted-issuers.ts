import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import { smokeIdPrefix } from '../contract/messages.ts';
import { keySet } from './keys.ts';

/** 366 days: access portals issue visas for a year. */
const defaultMaxLifetimeSeconds = 31_622_400;
const prefixRule = 'prefix:';
/** A prefix that ends elsewhere can end inside a name and would match longer names: `…/d` would match `…/dEGAD1`. */
const prefixEnd = /[/:#=?]$/;
const name = z.string().min(1);
const names = z
  .array(name)
  .min(1)
  .transform((list): ReadonlySet<string> => new Set(list));
const tokenRoles = z.enum(['visas', 'passports']);

export type TokenRole = z.infer<typeof tokenRoles>;

/** Strict, since a misspelt `sources` would otherwise trust every source. docs/trusted-issuers.md explains each field. */
const trustedIssuer = z
  .strictObject({
    iss: name,
    jwks: keySet,
    issues: z
      .array(tokenRoles)
      .min(1)
      .default(['visas'])
      .transform((roles): ReadonlySet<TokenRole> => new Set(roles)),
    datasetIdFrom: z
      .union([z.literal('value'), z.literal('suffix'), z.templateLiteral([prefixRule, name])], {
        error: 'expected "value", "suffix" or "prefix:<url>"',
      })
      .refine((rule) => !rule.startsWith(prefixRule) || prefixEnd.test(rule.slice(prefixRule.length)), {
        error: 'a prefix must end in one of / : # = ?',
      })
      .default('value'),
    jku: name.optional(),
    audience: z
      .union([name.transform((one): ReadonlySet<string> => new Set([one])), names], {
        error: 'expected a text or a list of texts, none of them empty',
      })
      .optional(),
    sources: names.optional(),
    by: names.optional(),
    maxLifetimeSeconds: z.int().min(1).default(defaultMaxLifetimeSeconds),
    purpose: z.literal('smoke-test').optional(),
  })
  .refine(({ iss, purpose }) => purpose !== undefined || !cannotExist(iss), {
    path: ['purpose'],
    error: 'no real issuer has a name that ends in .invalid: add "purpose": "smoke-test"',
  })
  .transform(({ datasetIdFrom, purpose, ...issuer }) => ({
    ...issuer,
    /** Whether the operator made it for smoke tests. Its visas then grant datasets of smoke tests and no others. */
    isForSmokeTests: purpose !== undefined,
    /** The dataset id that a visa's `value` names; `undefined` when it names none of ours. */
    datasetIdOf: (value: string): string | undefined => {
      const datasetId = datasetIdOf(value, datasetIdFrom);
      return purpose === undefined || datasetId?.startsWith(smokeIdPrefix) ? datasetId : undefined;
    },
  }));

/** An issuer of visas, of passports (a broker), or of both. */
export type TrustedIssuer = Readonly<z.infer<typeof trustedIssuer>>;

/** Whom the operator trusts, by `iss`. Made by {@link parseTrustedIssuers} only. */
export type TrustedIssuers = ReadonlyMap<string, TrustedIssuer>;

const trustedIssuers = z.array(trustedIssuer).transform((entries, context): TrustedIssuers => {
  const found = new Map<string, TrustedIssuer>();
  for (const [index, issuer] of entries.entries()) {
    if (found.has(issuer.iss)) context.addIssue({ code: 'custom', path: [index, 'iss'], message: 'listed twice' });
    found.set(issuer.iss, issuer);
  }
  return found;
});

/** Whether the issuer has a name that the DNS never has (RFC 6761 § 6.4), such as the smoke test's own. */
function cannotExist(iss: string): boolean {
  const url = iss.includes('://') ? iss : `https://${iss}`;
  return URL.canParse(url) && /(^|\.)invalid\.?$/i.test(new URL(url).hostname);
}

/** The operator must correct `private/trusted-issuers.json`; each line of the message names a field and what is wrong. */
export class TrustedIssuersError extends Error {
  override readonly name: string = 'TrustedIssuersError';
  constructor(problems: readonly string[]) {
    super(['the list of trusted issuers is not usable:', ...problems].join('\n  '));
  }
}

/** Read the parsed content of `private/trusted-issuers.json`. A {@link TrustedIssuersError} names every wrong field. */
export function parseTrustedIssuers(config: unknown): TrustedIssuers {
  const { data, error } = trustedIssuers.safeParse(config);
  if (data) return data;
  throw new TrustedIssuersError(
    error.issues.map(({ path, message }) => `${toDotPath(['issuers', ...path])}: ${message}`),
  );
}

/**
 * Why a deployment must not trust these issuers: it is for production, and one of them is for smoke tests. The owner of its key
 * grants datasets without a data access committee.
 *
 * @returns `smoke_issuer_in_production: …`, with what to do; `undefined` when there is nothing against them
 */
export function smokeIssuerFault(
  issuers: TrustedIssuers,
  purpose: 'production' | 'test' = 'production',
): string | undefined {
  const found = [...issuers.values()].find(({ isForSmokeTests }) => isForSmokeTests);
  if (!found || purpose === 'test') return undefined;
  return (
    `smoke_issuer_in_production: ${found.iss} is an issuer of smoke tests, and this deployment is for production. ` +
    "Remove the issuer, or set purpose: 'test' in private/settings.ts"
  );
}

/** Says which issuers publish keys for encryption, which verify no visa and are left out; `undefined` if none does. */
export function leftOutKeys(issuers: TrustedIssuers): string | undefined {
  const found = [...issuers.values()].filter(({ jwks }) => jwks.leftOut > 0);
  if (found.length === 0) return undefined;
  const counts = found.map(({ iss, jwks }) => `${jwks.leftOut} of ${iss}`).join(', ');
  return `keys for encryption are ignored: ${counts}`;
}

/** No normalisation of any kind: what is left of `value` must equal a dataset id (Passport 1.2, value). */
function datasetIdOf(value: string, from: string): string | undefined {
  if (from === 'value') return value;
  if (from === 'suffix') return (value.endsWith('/') ? value.slice(0, -1) : value).split('/').at(-1) || undefined;
  const prefix = from.slice(prefixRule.length);
  return value.startsWith(prefix) ? value.slice(prefix.length) || undefined : undefined;
}
