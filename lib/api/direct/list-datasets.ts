import { grantedAndReleased } from '../../archive/entitlement.ts';
import type { Catalogue } from '../../archive/ports.ts';
import { bearerToken } from '../../http/authorization.ts';
import { type HttpReply, jsonReply } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import type { VisaRules } from '../../visas/index.ts';
import { verifiedToken } from '../verified-token.ts';

/** What `GET /metadata/datasets` needs. */
export interface DatasetsEndpoint {
  readonly rules: VisaRules;
  readonly catalogue: Pick<Catalogue, 'decide'>;
}

/**
 * `GET /metadata/datasets`: stable ids of the datasets that are granted and released at this moment, sorted.
 * @throws UnauthenticatedError, InvalidRequestError, TemporarilyUnavailableError
 */
export async function listDatasets(
  request: HttpRequest,
  { rules, catalogue }: DatasetsEndpoint,
): Promise<HttpReply<string>> {
  const { grants } = await verifiedToken(bearerToken(request), rules);
  const { entitlements } = await grantedAndReleased(catalogue, grants);
  return jsonReply(
    request.requestId,
    entitlements.map(({ datasetId }) => datasetId),
  );
}
