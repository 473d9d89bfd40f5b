import { unverifiedClaims, visasIn } from '../../common/untrusted-json.ts';
import { grantType } from '../../contract/reasons.ts';

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

interface Grant {
  readonly visa: string;
  readonly iss: string;
  readonly sub: string;
  /** The issuer's name of the dataset. */
  readonly value: string;
  /** Seconds since 1970. */
  readonly exp: number;
}

/**
 * Chooses for the outbox. The service shows the files of each identity in a passport, and any visa of an identity shows the
 * files of that identity. The passport's own identity comes first; the others follow in code unit order, as in the service.
 */
export const outboxVisa: VisaChoice = (passport, fits) => {
  const grants = grantsIn(passport).filter(({ visa }) => fits(visa));
  const { iss, sub } = unverifiedClaims(passport) ?? {};
  const own = (grant: Grant) => Number(grant.iss === iss && grant.sub === sub);
  grants.sort((a, b) => own(b) - own(a) || compare(a.iss, b.iss) || compare(a.sub, b.sub) || b.exp - a.exp);
  const [chosen] = grants;
  if (!chosen) return undefined;
  const others = new Set(grantsIn(passport).map((grant) => JSON.stringify([grant.iss, grant.sub]))).size - 1;
  const missing = others > 0 ? ` Other identities in it: ${others}; their files are not reached.` : '';
  return { visa: chosen.visa, note: `${sending(passport, chosen)}.${missing}` };
};

/** Chooses for a dataset: the visa that names it. Of several, the one that lasts longest. */
export function datasetVisa(datasetId: string): VisaChoice {
  return (passport, fits) => {
    const named = grantsIn(passport).filter(({ visa, value }) => fits(visa) && namesDataset(value, datasetId));
    const [chosen] = named.sort((a, b) => b.exp - a.exp);
    return chosen && { visa: chosen.visa, note: `${sending(passport, chosen)}.` };
  };
}

/** One visa for each dataset that the passport grants. */
export function visasForAll(passport: string, fits: (visa: string) => boolean): readonly string[] {
  const grants = grantsIn(passport).filter(({ visa }) => fits(visa));
  grants.sort((a, b) => a.exp - b.exp);
  return [...new Map(grants.map(({ iss, value, visa }) => [JSON.stringify([iss, value]), visa])).values()];
}

/** Visas that can grant by themselves. A visa with conditions needs others beside it. */
function grantsIn(passport: string): Grant[] {
  return (visasIn(passport) ?? []).flatMap((visa) => {
    const { iss, sub, exp, ga4gh_visa_v1: object } = unverifiedClaims(visa) ?? {};
    if (typeof iss !== 'string' || typeof sub !== 'string' || typeof object !== 'object' || object === null) return [];
    const { type, value, conditions = [] } = object as Readonly<Record<string, unknown>>;
    if (type !== grantType || typeof value !== 'string' || !Array.isArray(conditions) || conditions.length > 0)
      return [];
    return { visa, iss, sub, value, exp: typeof exp === 'number' ? exp : 0 };
  });
}

/** Whether `value` of a visa names the dataset: by its id alone, or by an address or URN that ends with the id. */
export function namesDataset(value: string, datasetId: string): boolean {
  const text = value.replace(/\/$/, '');
  return text.endsWith(datasetId) && /(?:^|[/:#=?])$/.test(text.slice(0, text.length - datasetId.length));
}

function sending(passport: string, { iss, sub, value }: Grant): string {
  const which = `for ${sub}, by ${iss}, for ${value}`;
  return `${oversize(passport)}: of its visas, only that ${which} is sent`;
}

/** The beginning of a note about a passport that is too large for a header. */
export function oversize(passport: string): string {
  return `The passport has ${passport.length} bytes, which do not fit a header`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
