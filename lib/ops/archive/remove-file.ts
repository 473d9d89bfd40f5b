import { DataOutError } from '../../errors.ts';
import type { InventoryFile } from '../catalogue/inventory.ts';
import type { Removal, RemovalOutcome } from '../catalogue/writer.ts';
import { OpsError } from '../errors.ts';
import type { Target } from '../target.ts';

/**
 * Take one file out of the archive: first its row, then its body. So a crash in between leaves a body that no row points at, and
 * that nothing can decrypt, because its header went with the row.
 * @throws OpsError `conflict` while a dataset that it would leave is released, for a body in another bucket, for a file
 * that a pipeline keeps records of, and when the row is gone and the body could not be removed
 */
export async function removeFile(
  { bodies, catalogue }: Pick<Target, 'bodies' | 'catalogue'>,
  removal: Removal,
): Promise<RemovalOutcome> {
  const { fileId, datasetId } = removal;
  const { datasetIds, releasedIn, archiveFilePath, archiveLocation } = await findFile({ catalogue }, fileId);
  const left = datasetId === undefined ? datasetIds : [datasetId];
  const released = releasedIn.find((id) => left.includes(id));
  if (released !== undefined) throw releasedError(fileId, released);
  const isWhole = datasetIds.every((id) => left.includes(id));
  if (isWhole && !bodies.holds(archiveLocation)) {
    const message = `the body of ${fileId} is in ${archiveLocation}: remove the file where that bucket is filled`;
    throw new OpsError('conflict', message);
  }
  const outcome = await catalogue.removeFile(removal);
  if (outcome === undefined) {
    const remedy = `look at it with data-out-ops archive show ${fileId}`;
    throw new OpsError('conflict', `${fileId} was changed meanwhile: ${remedy}`);
  }
  if (outcome !== 'removed' || archiveFilePath === '') return outcome;
  await bodies.remove(archiveFilePath).catch((cause: unknown) => {
    const message = `${fileId} is removed, but body ${archiveFilePath} is left in the archive bucket: delete it there`;
    throw new OpsError('conflict', message, { cause });
  });
  return outcome;
}

/** @throws `not_found` */
export async function findFile({ catalogue }: Pick<Target, 'catalogue'>, fileId: string): Promise<InventoryFile> {
  const file = await catalogue.findFile(fileId);
  if (file) return file;
  throw new DataOutError('not_found', `there is no file ${fileId}: data-out-ops archive list shows the files`);
}

/** What to do about a released dataset. */
export function releasedError(what: string, datasetId: string): OpsError {
  const remedy = `run data-out-ops dataset deprecate ${datasetId} first`;
  const name = what === datasetId ? datasetId : `${what} is in ${datasetId}, which`;
  return new OpsError('conflict', `${name} is released: ${remedy}`);
}
