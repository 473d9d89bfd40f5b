import { listedVisas, tokenIn, unverifiedClaims } from '../../common/untrusted-json.ts';
import { grantType } from '../../contract/reasons.ts';
import { type DecodedVisa, datasetsOf, decodeVisaOrPassport, visasAmong } from './order/decoded-visa.ts';
import { namesDataset } from './order/order-rules.ts';

/**
 * Chooses a visa of a passport that is too large for a header. The service shows the files of each identity in a passport, and
 * any visa of an identity shows the files of that identity. The passport's own identity comes first; the others follow in code
 * unit order, as in the service.
 * @returns the visa, and a note for the user: which one it is, and which files it does not reach; `undefined` if none serves
 */
export function outboxVisa(
  passport: string,
  fits: (visa: string) => boolean,
): { readonly visa: string; readonly note: string } | undefined {
  const { kind, visas = [] } = decodeVisaOrPassport(passport) ?? {};
  if (kind !== 'passport') return undefined;
  const grants = visas.filter(isGrant);
  const { iss, sub } = unverifiedClaims(passport) ?? {};
  const rank = ({ issuer, subject }: DecodedVisa) =>
    [issuer === iss && subject === sub ? 0 : 1, issuer, subject].join('\0');
  const inOrder = (a: DecodedVisa, b: DecodedVisa) => {
    if (rank(a) === rank(b)) return expiry(b) - expiry(a);
    return rank(a) < rank(b) ? -1 : 1;
  };
  const [chosen] = grants.filter(({ token }) => fits(token)).sort(inOrder);
  if (!chosen) return undefined;
  const tooLong = `The passport has ${passport.length} bytes, which do not fit a header: of its visas, `;
  return { visa: chosen.token, note: `${tooLong}${onlyOne(chosen, grants)}` };
}

function onlyOne({ issuer, subject, value }: DecodedVisa, grants: readonly DecodedVisa[]): string {
  const others = otherIdentities(grants);
  const missing = others > 0 ? ` Other identities in it: ${others}; their files are not reached.` : '';
  return `only that for ${subject}, by ${issuer}, for ${value} is sent.${missing}`;
}

function otherIdentities(grants: readonly DecodedVisa[]): number {
  return new Set(grants.map(({ issuer, subject }) => JSON.stringify([issuer, subject]))).size - 1;
}

/** The visas of `{"ga4gh_passport_v1":[…]}`, as sign-in services and REMS give it; `undefined` for any other text. */
export function visasOf(text: string): DecodedVisa[] | undefined {
  const tokens = listedVisas(text);
  return tokens && visasAmong(tokens);
}

/** The visa or passport that is sent, and what it was chosen from. */
export interface HeldVisa {
  readonly token: string;
  /** Decoded, not verified. */
  readonly all: readonly DecodedVisa[];
  /** For the user who has visas of several identities: which visa is sent, and what it does not reach. */
  readonly note?: string | undefined;
}

/**
 * The visa or passport in any text in which people have one: with line breaks, in quotes, after `Bearer`, or as {@link visasOf}
 * takes it.
 * @param dataset of several visas, one for it is preferred, because any visa of an identity shows its files
 * @param issuers of several visas, one by them is preferred; default: any
 * @returns `undefined` for other text, and if none of several visas grants a dataset alone
 */
export function heldVisa(text: string, dataset?: string, issuers?: readonly string[]): HeldVisa | undefined {
  const all = visasOf(text);
  if (!all) {
    const token = tokenIn(text);
    return token === undefined ? undefined : { token, all: decodeVisaOrPassport(token)?.visas ?? [] };
  }
  const accepted = all.filter((visa) => isGrant(visa) && (issuers?.includes(visa.issuer) ?? true));
  const chosen = fittingVisa(accepted, dataset) ?? fittingVisa(accepted, undefined) ?? fittingVisa(all, undefined);
  if (!chosen) return undefined;
  const isPart = dataset === undefined && accepted.includes(chosen) && otherIdentities(accepted) > 0;
  return {
    token: chosen.token,
    all,
    note: isPart ? `Of the passport's visas, ${onlyOne(chosen, accepted)}` : undefined,
  };
}

/** The visa that alone grants the dataset for the longest time. @param dataset default: any */
export function fittingVisa(visas: readonly DecodedVisa[], dataset: string | undefined): DecodedVisa | undefined {
  const grants = visas.filter((visa) => isGrant(visa) && (dataset === undefined || namesDataset(visa.value, dataset)));
  return grants.sort((a, b) => expiry(b) - expiry(a))[0];
}

/** Whether a text has visas for several datasets, so that none can be chosen for a file alone. */
export function hasSeveralDatasets(text: string): boolean {
  return datasetsOf({ visas: visasOf(text)?.filter(isGrant) ?? [] }).length > 1;
}

/** Whether a visa can grant alone. One with conditions needs others beside it. */
export function isGrant({ type, value, issuer, subject, hasConditions }: DecodedVisa): boolean {
  return type === grantType && !hasConditions && [value, issuer, subject].every((text) => text !== '');
}

function expiry({ expires }: DecodedVisa): number {
  return expires?.getTime() ?? 0;
}
