import { type Entitlement, grantedAndReleased } from '../archive/entitlement.ts';
import type { ArchivedFile, Catalogue, Wanted } from '../archive/ports.ts';
import { UnauthenticatedError } from '../errors.ts';
import { type DatasetGrant, type VerifiedGrants, VisaError, type VisaRules } from '../visas/index.ts';
import { accessRefused } from './access-refused.ts';

/**
 * What a caller's token says at this moment. Called for every request: nothing is remembered between them.
 *
 * @param token a visa or a passport
 * @throws UnauthenticatedError when the token is refused; TemporarilyUnavailableError
 */
export async function verifiedToken(token: string, rules: VisaRules): Promise<VerifiedGrants> {
  try {
    return await rules.verify(token);
  } catch (error) {
    if (!(error instanceof VisaError)) throw error;
    throw new UnauthenticatedError(`the visa was refused (${error.code}): ${error.message}`);
  }
}

/** What a Bearer token grants. @throws UnauthenticatedError as {@link verifiedToken} */
export async function grantsOf(token: string, rules: VisaRules): Promise<readonly DatasetGrant[]> {
  return (await verifiedToken(token, rules)).grants;
}

/**
 * Stable id of the dataset, if the caller may see it now.
 *
 * @param id stable id or alias
 * @throws ForbiddenError, alike for a dataset that is unknown, not released and not granted
 */
export async function entitledDataset(
  id: string,
  grants: readonly DatasetGrant[],
  catalogue: Pick<Catalogue, 'decide'>,
): Promise<string> {
  const [{ datasetId }] = await entitlementsTo({ datasetId: id }, grants, catalogue);
  return datasetId;
}

/**
 * Through which datasets the caller may have what is wanted, the first by id first.
 *
 * @throws ForbiddenError, alike for what is unknown, not released and not granted
 */
export async function entitlementsTo<Grant extends DatasetGrant>(
  wanted: Wanted,
  grants: readonly Grant[],
  catalogue: Pick<Catalogue, 'decide'>,
): Promise<readonly [Entitlement<Grant>, ...Entitlement<Grant>[]]> {
  const [first, ...others] = (await grantedAndReleased(catalogue, grants, wanted)).entitlements;
  if (!first) throw accessRefused();
  return [first, ...others];
}

/**
 * The file, if the caller may have it now; release is looked at once more in the query that reads the header.
 *
 * @throws ForbiddenError as {@link entitlementsTo}; ArchiveDamagedError, TemporarilyUnavailableError
 */
export async function entitledFile(
  fileId: string,
  grants: readonly DatasetGrant[],
  catalogue: Pick<Catalogue, 'decide' | 'findReleasedFile'>,
): Promise<ArchivedFile> {
  const [{ datasetId }] = await entitlementsTo({ fileId }, grants, catalogue);
  const file = await catalogue.findReleasedFile({ fileId, datasetId });
  if (!file) throw accessRefused();
  return file;
}
