import type { Entitlement } from '../../archive/entitlement.ts';
import type { Catalogue, FileReference } from '../../archive/ports.ts';
import { entitlementsTo } from '../../direct/access.ts';
import { UnauthenticatedError } from '../../errors.ts';
import { bearerToken } from '../../http/authorization.ts';
import type { HttpRequest } from '../../http/request.ts';
import type { DatasetGrant, VisaRules } from '../../visas/index.ts';
import { pathIdentifier } from '../path-identifier.ts';
import type { FileDescriptions } from '../ports.ts';
import { verifiedToken } from '../verified-token.ts';
import { parsePassports } from './passports.ts';

/** What the routes below `/ga4gh/drs/v1/objects/{object_id}` need. */
export interface DrsEndpoint {
  readonly rules: VisaRules;
  readonly catalogue: Pick<Catalogue, 'decide' | 'findReleasedFile'>;
  readonly descriptions: FileDescriptions;
  /** Called for every object that was described or whose URL was given, before the reply goes out. */
  readonly served: (access: DrsAccess) => void;
}

/** Which object was given, for the log. */
export interface DrsAccess extends FileReference {
  readonly requestId: string;
  /** Absent: only the description. */
  readonly accessId?: string;
}

/** A grant, and the caller's token that carries it. */
interface CallersGrant extends DatasetGrant {
  readonly token: string;
}

/** An object that the caller may have now. */
export interface GrantedObject {
  readonly fileId: string;
  /** Whether the token came in a header. Then it fits into one again. */
  readonly fromHeader: boolean;
  /** The datasets that give access, in the order of their ids, and the tokens that grant them. */
  readonly entitlements: readonly [Entitlement<CallersGrant>, ...Entitlement<CallersGrant>[]];
}

/**
 * The object of the path, if the tokens grant it: the Bearer token of a GET, the passports in the body of a POST. The grants
 * of all tokens count together. A refused token does not harm the others.
 *
 * @throws UnauthenticatedError when every token is refused
 * @throws ForbiddenError, the same for an object that is unknown, not released or not granted. @throws InvalidRequestError
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
      const verified = await verifiedToken(token, rules);
      grants.push(...verified.grants.map((grant) => ({ ...grant, token })));
    } catch (error) {
      if (!(error instanceof UnauthenticatedError)) throw error;
      refusals.push(error);
    }
  }
  if (refusals.length === tokens.size) throw refusals.at(-1);
  return grants;
}
