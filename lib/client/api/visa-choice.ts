import { unverifiedClaims } from '../../common/untrusted-json.ts';
import { grantType } from '../../contract/reasons.ts';
import { type DecodedVisa, decodeVisaOrPassport } from './order/decoded-visa.ts';

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
  // A visa with conditions needs others beside it.
  const grants = visas.filter(({ type, value, issuer, subject, hasConditions }) => {
    return type === grantType && !hasConditions && [value, issuer, subject].every((text) => text !== '');
  });
  const { iss, sub } = unverifiedClaims(passport) ?? {};
  const rank = ({ issuer, subject }: DecodedVisa) =>
    [issuer === iss && subject === sub ? 0 : 1, issuer, subject].join('\0');
  const inOrder = (a: DecodedVisa, b: DecodedVisa) => {
    if (rank(a) === rank(b)) return (b.expires?.getTime() ?? 0) - (a.expires?.getTime() ?? 0);
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
