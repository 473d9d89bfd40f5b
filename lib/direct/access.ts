import { ForbiddenError, UnauthenticatedError } from '../errors.ts';
import { grantedAndReleased } from '../export/entitlement.ts';
import type { ArchivedFile, Catalogue, FileReference } from '../export/ports.ts';
import { type DatasetGrant, type VerifiedGrants, VisaError, type VisaRules } from '../visas/index.ts';

export type { VisaRules };

/** The one answer for a file that is unknown, not released or not granted: which of them it is, is nobody's business. */
export function accessRefused(): ForbiddenError {
  return new ForbiddenError('No visa that was presented gives access to this.');
}

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
  catalogue: Pick<Catalogue, 'resolveDataset' | 'isReleased'>,
): Promise<string> {
  const datasetId = await catalogue.resolveDataset(id);
  if (datasetId === undefined) throw accessRefused();
  const { entitlements } = await grantedAndReleased(catalogue, grants, [datasetId]);
  if (entitlements.length === 0) throw accessRefused();
  return datasetId;
}

/**
 * The dataset through which the caller may have the file: the first by id that is granted and released.
 *
 * @throws ForbiddenError, alike for a file that is unknown, not released and not granted
 */
export async function entitledReference(
  fileId: string,
  grants: readonly DatasetGrant[],
  catalogue: Pick<Catalogue, 'datasetsOfFile' | 'resolveDataset' | 'isReleased'>,
): Promise<FileReference> {
  const candidates = (await catalogue.datasetsOfFile(fileId)).map(({ datasetId }) => datasetId);
  const { entitlements } = await grantedAndReleased(catalogue, grants, candidates);
  const [entitlement] = entitlements;
  if (!entitlement) throw accessRefused();
  return { fileId, datasetId: entitlement.datasetId };
}

/**
 * The file, if the caller may have it now; release is looked at once more in the query that reads the header.
 *
 * @throws ForbiddenError as {@link entitledReference}; ArchiveDamagedError, TemporarilyUnavailableError
 */
export async function entitledFile(
  fileId: string,
  grants: readonly DatasetGrant[],
  catalogue: Pick<Catalogue, 'datasetsOfFile' | 'resolveDataset' | 'isReleased' | 'findReleasedFile'>,
): Promise<ArchivedFile> {
  const file = await catalogue.findReleasedFile(await entitledReference(fileId, grants, catalogue));
  if (!file) throw accessRefused();
  return file;
}
