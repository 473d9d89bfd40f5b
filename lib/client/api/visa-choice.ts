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
  const grants = grantsIn(passport).filter(({ token }) => fits(token));
  const { iss, sub } = unverifiedClaims(passport) ?? {};
  const own = ({ issuer, subject }: DecodedVisa) => Number(issuer === iss && subject === sub);
  grants.sort(
    (a, b) => own(b) - own(a) || compare(a.issuer, b.issuer) || compare(a.subject, b.subject) || expiry(b) - expiry(a),
  );
  const [chosen] = grants;
  if (!chosen) return undefined;
  const others = new Set(grantsIn(passport).map((grant) => JSON.stringify([grant.issuer, grant.subject]))).size - 1;
  const missing = others > 0 ? ` Other identities in it: ${others}; their files are not reached.` : '';
  const { issuer, subject, value, token } = chosen;
  const which = `for ${subject}, by ${issuer}, for ${value}`;
  const note = `The passport has ${passport.length} bytes, which do not fit a header: of its visas, only that ${which} is sent.`;
  return { visa: token, note: `${note}${missing}` };
}

/** Visas that can grant alone. A visa with conditions needs others beside it. */
function grantsIn(passport: string): DecodedVisa[] {
  const { kind, visas = [] } = decodeVisaOrPassport(passport) ?? {};
  const isGrant = ({ type, value, issuer, subject, hasConditions }: DecodedVisa) =>
    type === grantType && !hasConditions && [value, issuer, subject].every((text) => text !== '');
  return kind === 'passport' ? visas.filter(isGrant) : [];
}

function expiry({ expires }: DecodedVisa): number {
  return expires?.getTime() ?? 0;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
