import { visasIn } from '../../contract/unverified-token.ts';
import { entitledReference, grantsOf, type VisaRules } from '../../direct/access.ts';
import { ForbiddenError, InvalidRequestError, UnauthenticatedError } from '../../errors.ts';
import type { Catalogue, FileReference } from '../../export/ports.ts';
import type { DatasetGrant } from '../../visas/index.ts';
import { bearerToken } from '../authorization.ts';
import { pathIdentifier } from '../path-identifier.ts';
import type { HttpRequest } from '../request.ts';
import { parsePassports } from './passports.ts';

type Lookup = Pick<Catalogue, 'datasetsOfFile' | 'resolveDataset' | 'isReleased'>;

/** An object that the caller may have now, and the token that says so. */
export interface GrantedObject {
  readonly reference: FileReference;
  readonly token: string;
}

/**
 * All request headers together may have 10,240 bytes at API Gateway, names included. The rest is for those that clients and
 * what is on the way add.
 */
const longestBearer = 8192;

/**
 * The object of the path, if one of the tokens gives it: the Bearer token of a GET, the passports in the body of a POST.
 * Of several passports, one that is refused makes the others no worse.
 *
 * @throws UnauthenticatedError when every token is refused
 * @throws ForbiddenError, alike for an object that is unknown, not released and not granted. @throws InvalidRequestError
 */
export async function grantedObject(request: HttpRequest, rules: VisaRules, catalogue: Lookup): Promise<GrantedObject> {
  const tokens = request.method === 'POST' ? parsePassports(request) : [bearerToken(request)];
  let refusal: unknown;
  for (const token of tokens) {
    try {
      const grants = await grantsOf(token, rules);
      return { reference: await entitledReference(pathIdentifier(request, 'object_id'), grants, catalogue), token };
    } catch (error) {
      if (!(error instanceof UnauthenticatedError || error instanceof ForbiddenError)) throw error;
      // That a good token does not give this is the better answer than that another one is not good.
      if (!(refusal instanceof ForbiddenError)) refusal = error;
    }
  }
  throw refusal;
}

/**
 * The token as it can travel in a header: itself, or of a passport that is too long for one, the visa inside it that
 * grants the dataset. The caller has that already, and it gives less than the passport does.
 *
 * @throws InvalidRequestError when no visa by itself grants it
 */
export async function headerToken(
  { token, reference }: GrantedObject,
  rules: VisaRules,
  catalogue: Pick<Catalogue, 'resolveDataset'>,
): Promise<string> {
  if (token.length <= longestBearer) return token;
  const granted: { visa: string; id: string }[] = [];
  for (const visa of visasIn(token) ?? []) {
    const grants = visa.length <= longestBearer ? await grantsOrNone(visa, rules) : [];
    granted.push(...grants.map(({ datasetId }) => ({ visa, id: datasetId })));
  }
  const own = granted.find(({ id }) => id === reference.datasetId);
  if (own) return own.visa;
  for (const { visa, id } of granted) if ((await catalogue.resolveDataset(id)) === reference.datasetId) return visa;
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
