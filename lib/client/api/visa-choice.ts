import { unverifiedClaims } from '../../common/untrusted-json.ts';
import { grantType } from '../../contract/reasons.ts';
import { type DecodedVisa, decodeVisaOrPassport } from './order/decoded-visa.ts';

/** One visa out of a passport that is too large for a header. */
export interface ChosenVisa {
  readonly visa: string;
  /** For the user: which visa it is, and which files it does not reach. */
  readonly note: string;
}

/** Chooses a visa of `passport` for one request; `undefined` if no visa serves. */
export type VisaChoice = (
  passport: string,
  fits: (visa: string) => boolean,
) => ChosenVisa | undefined | Promise<ChosenVisa | undefined>;

/**
 * Chooses for the outbox. The service shows the files of each identity in a passport, and any visa of an identity shows the
 * files of that identity. The passport's own identity comes first; the others follow in code unit order, as in the service.
 */
export const outboxVisa: VisaChoice = (passport, fits) => {
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
  return { visa: chosen.token, note: `${sending(passport, chosen)}.${missing}` };
};

/** Chooses for a dataset: the visa that names it. Of several, the one that lasts longest. */
export function datasetVisa(datasetId: string): VisaChoice {
  return (passport, fits) => {
    const named = grantsIn(passport).filter(({ token, value }) => fits(token) && namesDataset(value, datasetId));
    const [chosen] = named.sort((a, b) => expiry(b) - expiry(a));
    return chosen && { visa: chosen.token, note: `${sending(passport, chosen)}.` };
  };
}

/** One visa for each dataset that the passport grants. */
export function visasForAll(passport: string, fits: (visa: string) => boolean): readonly string[] {
  const grants = grantsIn(passport).filter(({ token }) => fits(token));
  grants.sort((a, b) => expiry(a) - expiry(b));
  return [...new Map(grants.map(({ issuer, value, token }) => [JSON.stringify([issuer, value]), token])).values()];
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

/** Whether `value` of a visa names the dataset: by its id alone, or by an address or URN that ends with the id. */
export function namesDataset(value: string, datasetId: string): boolean {
  const text = value.replace(/\/$/, '');
  return text.endsWith(datasetId) && /(?:^|[/:#=?])$/.test(text.slice(0, text.length - datasetId.length));
}

function sending(passport: string, { issuer, subject, value }: DecodedVisa): string {
  const which = `for ${subject}, by ${issuer}, for ${value}`;
  return `${oversize(passport)}: of its visas, only that ${which} is sent`;
}

/** The beginning of a note about a passport that is too large for a header. */
export function oversize(passport: string): string {
  return `The passport has ${passport.length} bytes, which do not fit a header`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
