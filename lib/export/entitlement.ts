import { identifier } from '../contract/messages.ts';
import type { Subject } from '../contract/outbox-key.ts';
import type { DatasetGrant } from '../visas/index.ts';
import { forEachConcurrently } from './concurrency.ts';
import type { Catalogue } from './ports.ts';

/** A dataset that may be handed out, and the visa that says so. */
export interface Entitlement {
  /** Stable id, `EGAD…`. */
  readonly datasetId: string;
  /** Whom the granting visa is about: the recipient. */
  readonly subject: Subject;
  readonly expiresAt: Date;
  /** See `DatasetGrant`. */
  readonly restsOn: readonly string[];
}

export interface Decision {
  /** Whether any of the datasets is granted at all, released or not. */
  readonly granted: boolean;
  /** Granted ∩ released, in the order of the dataset ids. */
  readonly entitlements: readonly Entitlement[];
}

type Lookup = Pick<Catalogue, 'resolveDataset' | 'isReleased'>;

/** Look-ups of aliases in flight at once. */
const lookups = 8;

/**
 * The one decision behind every way out of the archive: which datasets are granted by a verified visa **and** released
 * at this moment. Nothing is remembered between calls. Where several visas grant one dataset, the first counts.
 *
 * @param grants of visas that have been verified; their dataset ids may be stable ids or aliases
 * @param among stable ids to choose from; absent: every dataset that is granted
 */
export async function grantedAndReleased(
  catalogue: Lookup,
  grants: readonly DatasetGrant[],
  among?: readonly string[],
): Promise<Decision> {
  const granted = await grantedDatasets(catalogue, grants, among && new Set(among));
  const entitlements: Entitlement[] = [];
  for (const [datasetId, { subject, expiresAt, restsOn }] of granted) {
    if (await catalogue.isReleased(datasetId)) entitlements.push({ datasetId, subject, expiresAt, restsOn });
  }
  return { granted: granted.length > 0, entitlements };
}

/** Stable id → the first grant that names it, by itself or by an alias, in the order of the ids. */
async function grantedDatasets(
  catalogue: Lookup,
  grants: readonly DatasetGrant[],
  among: ReadonlySet<string> | undefined,
): Promise<readonly (readonly [string, DatasetGrant])[]> {
  const stableIds = new Map<string, string | undefined>();
  if (among) {
    for (const { datasetId } of grants) if (among.has(datasetId)) stableIds.set(datasetId, datasetId);
  }
  // Every dataset asked for is granted by its own id: no alias can add to that, so none is looked up.
  const complete = among !== undefined && stableIds.size === among.size;
  if (!complete) await resolveAll(catalogue, grants, stableIds);

  const found = new Map<string, DatasetGrant>();
  for (const grant of grants) {
    const datasetId = stableIds.get(grant.datasetId);
    if (datasetId === undefined || found.has(datasetId) || (among && !among.has(datasetId))) continue;
    found.set(datasetId, grant);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** An id that no catalogue can hold names nothing; the database is not asked, it would fail rather than answer. */
async function resolveAll(
  catalogue: Lookup,
  grants: readonly DatasetGrant[],
  stableIds: Map<string, string | undefined>,
): Promise<void> {
  const unknown = new Set(grants.map((grant) => grant.datasetId).filter((id) => !stableIds.has(id)));
  await forEachConcurrently(unknown, lookups, async (id) => {
    if (identifier.safeParse(id).success) stableIds.set(id, await catalogue.resolveDataset(id));
  });
}
