import { ForbiddenError, NotFoundError } from '../../errors.ts';
import { type HttpReply, jsonReply } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import type { TrustedIssuers } from '../../visas/index.ts';
import { pathIdentifier } from '../path-identifier.ts';
import type { DrsAuthorizations } from './model.ts';

/** How to ask for an object and for its access URL. It is the same for every object. */
export function authorizationsFor(objectId: string, { issuers }: TrustedIssuers): DrsAuthorizations {
  const all = [...issuers.values()];
  return {
    drs_object_id: objectId,
    supported_types: ['BearerAuth', 'PassportAuth'],
    passport_auth_issuers: all.filter((issuer) => issuer.issues.has('visas')).map(({ iss }) => iss),
    bearer_auth_issuers: all.map(({ iss }) => iss),
  };
}

/**
 * `OPTIONS /ga4gh/drs/v1/objects/{object_id}`, without credentials. The catalogue is not asked, so the reply does not tell
 * whether there is such an object.
 *
 * @throws NotFoundError for an id that no catalogue can hold: DRS has no 403 for a request without credentials
 */
export function objectAuthorizations(request: HttpRequest, issuers: TrustedIssuers): HttpReply {
  return jsonReply(request.requestId, authorizationsFor(objectId(request), issuers));
}

function objectId(request: HttpRequest): string {
  try {
    return pathIdentifier(request, 'object_id');
  } catch (error) {
    if (error instanceof ForbiddenError) throw new NotFoundError('no object can have this id');
    throw error;
  }
}
