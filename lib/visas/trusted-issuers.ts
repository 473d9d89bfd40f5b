import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import { smokeIdPrefix } from '../contract/messages.ts';
import { type IssuerKey, importIssuerKey, KeyProblem } from './keys.ts';

/** An issuer of visas, of passports (a broker), or of both. */
export interface TrustedIssuer {
  /** Compared with the `iss` claim character by character. */
  readonly iss: string;
  /** By `kid`. They count for this issuer's tokens alone. */
  readonly keys: ReadonlyMap<string, IssuerKey>;
  readonly issues: ReadonlySet<TokenRole>;
  /** The dataset id that a visa's `value` names; `undefined` when it names none of ours. */
  readonly datasetIdOf: (value: string) => string | undefined;
  /** The one address of its key set that its tokens may name; never fetched. */
  readonly jku: string | undefined;
  /** When a token has an `aud` claim, one of its values must be among these (RFC 7519 § 4.1.3). Absent: `aud` is ignored. */
  readonly audience: ReadonlySet<string> | undefined;
  /** `source` claims that are trusted with this issuer; absent: all. */
  readonly sources: ReadonlySet<string> | undefined;
  /** `by` claims of grants that are trusted with this issuer; absent: all. */
  readonly by: ReadonlySet<string> | undefined;
  /** Most seconds from `iat` to `exp` of a token. */
  readonly maxLifetimeSeconds: number;
  /** Whether the operator made it for smoke tests. Its visas then grant datasets of smoke tests and no others. */
  readonly isForSmokeTests: boolean;
}

export type TokenRole = 'visas' | 'passports';

/** Whom the operator trusts. Made by {@link parseTrustedIssuers} only. */
export interface TrustedIssuers {
  readonly issuers: ReadonlyMap<string, TrustedIssuer>;
  /** What a non-empty `conditions` of a visa means: no grant, or a grant if other visas of the passport meet it. */
  readonly conditions: 'refuse' | 'evaluate';
}

/** The operator must correct `private/trusted-issuers.json`; each line of the message names a field and what is wrong. */
export class TrustedIssuersError extends Error {
  override readonly name: string = 'TrustedIssuersError';
  constructor(problems: readonly string[]) {
    super(['the list of trusted issuers is not usable:', ...problems].join('\n  '));
  }
}

/** 366 days: access portals issue visas for a year. */
const defaultMaxLifetimeSeconds = 31_622_400;
const prefixRule = 'prefix:';
/** A prefix that ends elsewhere can end inside a name and would match longer names: `…/d` would match `…/dEGAD1`. */
const prefixEnd = /[/:#=?]$/;
const strings = z.array(z.string().min(1)).min(1);
const notAnAudience = 'expected a text or a list of texts, none of them empty';

const keySet = z.looseObject({ keys: z.array(z.looseObject({})).min(1) }).transform(({ keys }, context) => {
  const found = new Map<string, IssuerKey>();
  keys.forEach((jwk, index) => {
    const problem = addKey(found, jwk);
    if (problem) context.addIssue({ code: 'custom', path: ['keys', index, problem.member], message: problem.message });
  });
  return found;
});

function addKey(found: Map<string, IssuerKey>, jwk: Readonly<Record<string, unknown>>): KeyProblem | undefined {
  try {
    const key = importIssuerKey(jwk);
    if (found.has(key.kid)) return new KeyProblem('kid', 'another key of this issuer has the same id');
    found.set(key.kid, key);
    return undefined;
  } catch (error) {
    if (error instanceof KeyProblem) return error;
    throw error;
  }
}

/** Strict, since a misspelt `sources` would otherwise trust every source. */
const issuer = z.strictObject({
  iss: z.string().min(1),
  jwks: keySet,
  issues: z
    .array(z.enum(['visas', 'passports']))
    .min(1)
    .default(['visas']),
  datasetIdFrom: z
    .union([z.literal('value'), z.literal('suffix'), z.templateLiteral([prefixRule, z.string().min(1)])], {
      error: 'expected "value", "suffix" or "prefix:<url>"',
    })
    .refine((rule) => !rule.startsWith(prefixRule) || prefixEnd.test(rule.slice(prefixRule.length)), {
      error: 'a prefix must end in one of / : # = ?',
    })
    .default('value'),
  jku: z.string().min(1).optional(),
  audience: z
    .union(
      [
        z
          .string()
          .min(1)
          .transform((one) => [one]),
        strings,
      ],
      { error: notAnAudience },
    )
    .optional(),
  sources: strings.optional(),
  by: strings.optional(),
  maxLifetimeSeconds: z.int().min(1).default(defaultMaxLifetimeSeconds),
  purpose: z.literal('smoke-test').optional(),
});

const issuerList = z.array(issuer).superRefine((entries, context) => {
  const seen = new Set<string>();
  entries.forEach(({ iss, purpose }, index) => {
    if (seen.has(iss)) context.addIssue({ code: 'custom', path: [index, 'iss'], message: 'listed twice' });
    seen.add(iss);
    if (purpose === undefined && cannotExist(iss))
      context.addIssue({ code: 'custom', path: [index, 'purpose'], message: noPurpose });
  });
});

const noPurpose = 'no real issuer has a name that ends in .invalid: add "purpose": "smoke-test"';

/** Whether the issuer has a name that the DNS never has (RFC 6761 § 6.4), such as the smoke test's own. */
function cannotExist(iss: string): boolean {
  const url = iss.includes('://') ? iss : `https://${iss}`;
  return URL.canParse(url) && /(^|\.)invalid\.?$/i.test(new URL(url).hostname);
}

const trustedIssuers = z.strictObject({
  issuers: issuerList,
  conditions: z.enum(['refuse', 'evaluate']).default('refuse'),
});

/**
 * Read the trust list, the parsed content of `private/trusted-issuers.json` (docs/trusted-issuers.md): an array of
 * issuers, or an object with `issuers` and `conditions`. An empty list trusts no issuer.
 *
 * @throws TrustedIssuersError which names every field that is wrong; meant for start-up
 */
export function parseTrustedIssuers(config: unknown): TrustedIssuers {
  const result = trustedIssuers.safeParse(Array.isArray(config) ? { issuers: config } : config);
  if (!result.success) {
    throw new TrustedIssuersError(result.error.issues.map(({ path, message }) => `${toDotPath(path)}: ${message}`));
  }
  const { issuers, conditions } = result.data;
  const entries = issuers.map(
    ({
      iss,
      jwks,
      issues,
      datasetIdFrom,
      jku,
      audience,
      sources,
      by,
      maxLifetimeSeconds,
      purpose,
    }): [string, TrustedIssuer] => [
      iss,
      {
        iss,
        keys: jwks,
        issues: new Set(issues),
        datasetIdOf: (value) => {
          const datasetId = datasetIdOf(value, datasetIdFrom);
          return purpose === undefined || datasetId?.startsWith(smokeIdPrefix) ? datasetId : undefined;
        },
        jku,
        audience: audience && new Set(audience),
        sources: sources && new Set(sources),
        by: by && new Set(by),
        maxLifetimeSeconds,
        isForSmokeTests: purpose === 'smoke-test',
      },
    ],
  );
  return { issuers: new Map(entries), conditions };
}

/**
 * Why a deployment must not trust these issuers: it is for production, and one of them is for smoke tests. The owner of its key
 * grants datasets without a data access committee.
 *
 * @returns `smoke_issuer_in_production: …`, with what to do; `undefined` when there is nothing against them
 */
export function smokeIssuerFault(
  { issuers }: TrustedIssuers,
  purpose: 'production' | 'test' = 'production',
): string | undefined {
  const found = [...issuers.values()].find(({ isForSmokeTests }) => isForSmokeTests);
  if (!found || purpose === 'test') return undefined;
  return (
    `smoke_issuer_in_production: ${found.iss} is an issuer of smoke tests, and this deployment is for production. ` +
    "Remove the issuer, or set purpose: 'test' in private/settings.ts"
  );
}

/** No normalisation of any kind: what is left of `value` must equal a dataset id (Passport 1.2, value). */
function datasetIdOf(value: string, from: string): string | undefined {
  if (from === 'value') return value;
  if (from === 'suffix') return (value.endsWith('/') ? value.slice(0, -1) : value).split('/').at(-1) || undefined;
  const prefix = from.slice(prefixRule.length);
  return value.startsWith(prefix) ? value.slice(prefix.length) || undefined : undefined;
}
