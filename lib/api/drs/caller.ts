import type { Entitlement } from '../../archive/entitlement.ts';
import type { Catalogue } from '../../archive/ports.ts';
import { visasIn } from '../../contract/unverified-token.ts';
import { entitlementsTo, grantsOf } from '../../direct/access.ts';
import { InvalidRequestError, UnauthenticatedError } from '../../errors.ts';
import { bearerToken } from '../../http/authorization.ts';
import type { HttpRequest } from '../../http/request.ts';
import type { DatasetGrant, VisaRules } from '../../visas/index.ts';
import { pathIdentifier } from '../path-identifier.ts';
import { parsePassports } from './passports.ts';

/** A grant, and the token of the caller that has it. */
interface CallersGrant extends DatasetGrant {
  readonly token: string;
}

/** An object that the caller may have now. */
export interface GrantedObject {
  readonly fileId: string;
  /** Whether the token came in a header: then it fits one. */
  readonly fromHeader: boolean;
  /** Through which datasets, the first by id first, and by which tokens. */
  readonly entitlements: readonly [Entitlement<CallersGrant>, ...Entitlement<CallersGrant>[]];
}

/**
 * All request headers together may have 10,240 bytes at API Gateway, names included. The rest is for those that clients and
 * what is on the way add.
 */
const longestBearer = 8192;

/**
 * The object of the path, if the tokens give it: the Bearer token of a GET, the passports in the body of a POST. What all of
 * them grant is decided upon together; one that is refused makes the others no worse.
 *
 * @throws UnauthenticatedError when every token is refused
 * @throws ForbiddenError, alike for an object that is unknown, not released and not granted. @throws InvalidRequestError
 */
export async function grantedObject(
  request: HttpRequest,
  rules: VisaRules,
  catalogue: Pick<Catalogue, 'decide'>,
): Promise<GrantedObject> {
  const fromHeader = request.method !== 'POST';
  const tokens = fromHeader ? [bearerToken(request)] : parsePassports(request);
  const grants = await grantsOfAny(new Set(tokens), rules);
  const fileId = pathIdentifier(request, 'object_id');
  return { fileId, fromHeader, entitlements: await entitlementsTo({ fileId }, grants, catalogue) };
}

/** @throws UnauthenticatedError when every token is refused */
async function grantsOfAny(tokens: ReadonlySet<string>, rules: VisaRules): Promise<readonly CallersGrant[]> {
  const grants: CallersGrant[] = [];
  const refusals: UnauthenticatedError[] = [];
  for (const token of tokens) {
    try {
      grants.push(...(await grantsOf(token, rules)).map((grant) => ({ ...grant, token })));
    } catch (error) {
      if (!(error instanceof UnauthenticatedError)) throw error;
      refusals.push(error);
    }
  }
  if (refusals.length === tokens.size) throw refusals.at(-1);
  return grants;
}

/**
 * A token that grants the object by itself and can travel in a header, and through which dataset it does: one of the
 * caller's, or where all are too long, a visa inside one of them. The caller has that already, and it gives less.
 *
 * @throws InvalidRequestError when no visa by itself grants it
 */
export async function headerToken(
  { entitlements, fromHeader }: GrantedObject,
  rules: VisaRules,
): Promise<{ readonly token: string; readonly datasetId: string }> {
  const granting = entitlements.flatMap(({ datasetId, grants }) =>
    grants.map(({ token, datasetId: id }) => ({ token, id, datasetId })),
  );
  const whole = granting.find(({ token }) => fromHeader || token.length <= longestBearer);
  if (whole) return whole;
  // The decision has said which ids name the object's datasets: no visa of a verified token names them otherwise.
  const datasets = new Map(granting.map(({ id, datasetId }) => [id, datasetId]));
  for (const passport of new Set(granting.map(({ token }) => token))) {
    for (const visa of visasIn(passport) ?? []) {
      const grants = visa.length <= longestBearer ? await grantsOrNone(visa, rules) : [];
      for (const { datasetId: id } of grants) {
        const datasetId = datasets.get(id);
        if (datasetId !== undefined) return { token: visa, datasetId };
      }
    }
  }
  const message = `is longer than ${longestBearer} characters, which do not fit a header, and no visa in it grants this by itself`;
  throw new InvalidRequestError([{ field: 'passports', message }]);
}

async function grantsOrNone(visa: string, rules: VisaRules): Promise<readonly DatasetGrant[]> {
  try {
    return await grantsOf(visa, rules);
  } catch (error) {
    if (error instanceof UnauthenticatedError) return [];
    throw error;
  }
}
