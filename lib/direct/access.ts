import { type Entitlement, grantedAndReleased } from '../archive/entitlement.ts';
import type { ArchivedFile, Catalogue, Wanted } from '../archive/ports.ts';
import type { DatasetGrant } from '../visas/index.ts';
import { accessRefused } from './access-refused.ts';

/**
 * The datasets through which the caller may have what is wanted now, in the order of their ids.
 *
 * @throws ForbiddenError, the same for what is unknown, not released or not granted
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
 * The file, if the caller may have it now. The query that reads the header checks the release once more.
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
