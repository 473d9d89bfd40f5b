import { deprecatedDatasets, recordedContainers } from './containers.ts';
import { lookUp, type RemovalDependencies, remove, removeUnrecorded, unrecordedContainers } from './remove.ts';

export interface WithdrawalDependencies extends RemovalDependencies {
  /** Days after which the lifecycle rule of the bucket may remove a container. */
  readonly expiryDays: number;
}

/** What a run found of one deprecated dataset. There may be more, if the run ended early. */
export type Withdrawal = { readonly datasetId: string; found: number; removed: number };

/**
 * Take what belongs to deprecated datasets out of the outbox: containers of recipients, and short-lived ones of the direct API. A dataset with
 * another newest event, or with none, is left alone. A copy that is under way becomes no container, because its release is asked for
 * again at its end. A run may be repeated, and a run after a failure continues.
 *
 * @param options.deletes whether containers are deleted; otherwise they are counted
 * @param options.limit containers after which the run ends; the next run continues
 * @returns one entry for each dataset of which something was found
 */
export async function withdrawDeprecated(
  dependencies: WithdrawalDependencies,
  { deletes, limit, isOver }: { readonly deletes: boolean; readonly limit: number; readonly isOver: () => boolean },
): Promise<readonly Withdrawal[]> {
  const { db, expiryDays, outbox } = dependencies;
  const datasets = await deprecatedDatasets(db);
  const all = new Map(datasets.map(({ datasetId }) => [datasetId, { datasetId, found: 0, removed: 0 }]));
  let sum = 0;
  const count = (datasetId: string | undefined, found: number, removed: number) => {
    const withdrawal = all.get(datasetId ?? '');
    if (!withdrawal) return;
    withdrawal.found += found;
    withdrawal.removed += removed;
    sum += found;
  };
  const ends = () => isOver() || sum >= limit;

  for (const datasetId of all.keys()) {
    if (ends()) break;
    const filter = { datasetId };
    for await (const page of recordedContainers(db, expiryDays, filter, { withdrawn: true })) {
      const seen = await lookUp(page, filter, outbox);
      // Rows of containers that are gone end in any case, so that no run looks for them again.
      const ended = deletes ? seen : seen.filter(({ it }) => !it);
      const removed = await remove(ended, 'withdrawn', dependencies);
      count(datasetId, new Set(seen.flatMap(({ it }) => it?.key ?? [])).size, removed.size);
      if (ends()) break;
    }
  }
  const recent = new Set(datasets.flatMap(({ datasetId, isRecent }) => (isRecent ? [datasetId] : [])));
  if (recent.size > 0 && !ends()) {
    const direct = unrecordedContainers(outbox.directKeys(), ({ facts }) => recent.has(facts.datasetId ?? ''), outbox);
    for await (const page of direct) {
      for (const { facts } of page) count(facts.datasetId, 1, 0);
      const removed = deletes ? await removeUnrecorded(page, 'withdrawn', dependencies) : [];
      for (const { facts } of removed) count(facts.datasetId, 0, 1);
      if (ends()) break;
    }
  }
  return [...all.values()].filter(({ found }) => found > 0);
}
