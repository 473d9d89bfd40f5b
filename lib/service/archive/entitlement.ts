import { identifier } from '../../contract/messages.ts';
import type { DatasetGrant } from '../../visas/index.ts';
import type { AccessResult, Catalogue, RequestedData } from './ports.ts';

/** A dataset that the caller may have, and the grants that say so. */
export interface Entitlement<Grant extends DatasetGrant = DatasetGrant> {
  readonly datasetId: string;
  /** Every grant that names the dataset, by its id or an alias, in their order. The subject of the first is the recipient. */
  readonly grants: readonly [Grant, ...Grant[]];
}

export interface EvaluatedAccess<Grant extends DatasetGrant = DatasetGrant> extends Omit<AccessResult, 'entitled'> {
  /** Granted ∩ released, in the order of the dataset ids. */
  readonly entitlements: readonly Entitlement<Grant>[];
}

/**
 * The one decision behind every way out of the archive: which of the wanted datasets are granted by a verified visa **and**
 * released at this moment. The catalogue decides in one statement. Nothing is remembered between calls.
 *
 * @param grants of visas that have been verified; their dataset ids may be stable ids or aliases
 * @param wanted absent: every dataset that is granted
 */
export async function grantedAndReleased<Grant extends DatasetGrant>(
  catalogue: Pick<Catalogue, 'evaluateAccess'>,
  grants: readonly Grant[],
  wanted?: RequestedData,
): Promise<EvaluatedAccess<Grant>> {
  // No catalogue can hold such an id, and the database would fail on it rather than answer.
  const usable = grants.filter(({ datasetId }) => identifier.safeParse(datasetId).success);
  const ids = usable.map(({ datasetId }) => datasetId);
  const { known, granted, entitled } = await catalogue.evaluateAccess(ids, wanted);
  const entitlements = entitled.map(({ datasetId, namedBy }): Entitlement<Grant> => {
    const [first, ...others] = namedBy.flatMap((index) => usable[index] ?? []);
    if (!first) throw new TypeError('the catalogue named a dataset that no grant names');
    return { datasetId, grants: [first, ...others] };
  });
  return { known, granted, entitlements };
}
