import { parseJson, unverifiedClaims } from '../../common/untrusted-json.ts';
import { grantType } from '../../contract/reasons.ts';
import { type DecodedVisa, decodeVisaOrPassport, visasAmong } from './order/decoded-visa.ts';
import { isToken, namesDataset } from './order/order-rules.ts';

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
  const others = new Set(grants.map(rank)).size - 1;
  const missing = others > 0 ? ` Other identities in it: ${others}; their files are not reached.` : '';
  const { issuer, subject, value, token } = chosen;
  const which = `for ${subject}, by ${issuer}, for ${value}`;
  const note = `The passport has ${passport.length} bytes, which do not fit a header: of its visas, only that ${which} is sent.`;
  return { visa: token, note: `${note}${missing}` };
}

/** The visas of `{"ga4gh_passport_v1":[…]}`, as sign-in services and REMS give it; `undefined` for any other text. */
export function visasOf(text: string): DecodedVisa[] | undefined {
  const tokens: unknown = Object(parseJson(text)).ga4gh_passport_v1;
  return Array.isArray(tokens) ? visasAmong(tokens) : undefined;
}

/**
 * The visa or passport in any text in which people have one: with line breaks, in quotes, after `Bearer`, or as {@link visasOf}
 * takes it.
 * @param dataset of several visas, one for it is preferred, because any visa of an identity shows its files
 * @returns `undefined` for other text, and if none of several visas grants a dataset alone
 */
export function tokenIn(text: string, dataset?: string): string | undefined {
  const visas = visasOf(text);
  if (visas) return (fittingVisa(visas, dataset) ?? fittingVisa(visas, undefined))?.token;
  const token = text.replace(/^[\s"']*(?:Bearer\s+)?/i, '').replaceAll(/[\s"']/g, '');
  return isToken(token) ? token : undefined;
}

/** The visa that alone grants the dataset for the longest time. @param dataset default: any */
export function fittingVisa(visas: readonly DecodedVisa[], dataset: string | undefined): DecodedVisa | undefined {
  const grants = visas.filter((visa) => isGrant(visa) && (dataset === undefined || namesDataset(visa.value, dataset)));
  return grants.sort((a, b) => expiry(b) - expiry(a))[0];
}

/** Whether a visa can grant alone. One with conditions needs others beside it. */
function isGrant({ type, value, issuer, subject, hasConditions }: DecodedVisa): boolean {
  return type === grantType && !hasConditions && [value, issuer, subject].every((text) => text !== '');
}

function expiry({ expires }: DecodedVisa): number {
  return expires?.getTime() ?? 0;
}
