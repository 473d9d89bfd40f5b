import { grantsOf } from '../direct/access.ts';
import { grantedAndReleased } from '../export/entitlement.ts';
import type { Catalogue } from '../export/ports.ts';
import type { VisaRules } from '../visas/index.ts';
import { bearerToken } from './authorization.ts';
import { type HttpReply, jsonReply } from './reply.ts';
import type { HttpRequest } from './request.ts';

/** What `GET /metadata/datasets` needs. */
export interface DatasetsEndpoint {
  readonly rules: VisaRules;
  readonly catalogue: Pick<Catalogue, 'decide'>;
}

/**
 * `GET /metadata/datasets`: stable ids of the datasets that are granted and released at this moment, in their order.
 * @throws UnauthenticatedError, InvalidRequestError, TemporarilyUnavailableError
 */
export async function listDatasets(
  request: HttpRequest,
  { rules, catalogue }: DatasetsEndpoint,
): Promise<HttpReply<string>> {
  const grants = await grantsOf(bearerToken(request), rules);
  const { entitlements } = await grantedAndReleased(catalogue, grants);
  return jsonReply(
    request.requestId,
    entitlements.map(({ datasetId }) => datasetId),
  );
}
