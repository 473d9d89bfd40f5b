import { deprecatedDatasets, recordedContainers } from './containers.ts';
import {
  lookUp,
  type OutboxContainer,
  type RemovalDependencies,
  remove,
  removeUnrecorded,
  unrecordedContainers,
} from './remove.ts';

export interface WithdrawalDependencies extends RemovalDependencies {
  /** Days after which the lifecycle rule of the bucket may remove a container. */
  readonly expiryDays: number;
}

interface WithdrawalOptions {
  /** Whether containers are deleted; otherwise they are counted. */
  readonly deletes: boolean;
  /** Containers after which the run ends; the next run continues. */
  readonly limit: number;
  readonly isOver: () => boolean;
}

/** What a run found of one deprecated dataset. */
export interface Withdrawal {
  readonly datasetId: string;
  /** Containers that were in the outbox. There may be more, if the run ended early. */
  found: number;
  removed: number;
}

/**
 * Take what belongs to deprecated datasets out of the outbox: containers of recipients, and short-lived ones of direct access. A dataset with
 * another newest event, or with none, is left alone. A copy that is under way becomes no container, because its release is asked for
 * again at its end. A run may be repeated, and a run after a failure continues.
 *
 * @returns one entry for each dataset of which something was found
 */
export async function withdrawDeprecated(
  dependencies: WithdrawalDependencies,
  { deletes, limit, isOver }: WithdrawalOptions,
): Promise<readonly Withdrawal[]> {
  const datasets = await deprecatedDatasets(dependencies.db);
  const all = new Map(
    datasets.map(({ datasetId }): [string, Withdrawal] => [datasetId, { datasetId, found: 0, removed: 0 }]),
  );
  const sum = () => [...all.values()].reduce((total, { found }) => total + found, 0);
  const options = { deletes, isOver: () => isOver() || sum() >= limit };
  for (const withdrawal of all.values()) {
    if (options.isOver()) break;
    await withdrawDataset(withdrawal, dependencies, options);
  }
  const recent = new Set(datasets.flatMap(({ datasetId, isRecent }) => (isRecent ? [datasetId] : [])));
  if (recent.size > 0) await withdrawDirect(recent, all, dependencies, options);
  return [...all.values()].filter(({ found }) => found > 0);
}

async function withdrawDataset(
  withdrawal: Withdrawal,
  dependencies: WithdrawalDependencies,
  { deletes, isOver }: Omit<WithdrawalOptions, 'limit'>,
): Promise<void> {
  const { db, expiryDays, outbox } = dependencies;
  const filter = { datasetId: withdrawal.datasetId };
  for await (const page of recordedContainers(db, expiryDays, filter, { withdrawn: true })) {
    const seen = await lookUp(page, filter, outbox);
    withdrawal.found += new Set(seen.flatMap(({ it }) => it?.key ?? [])).size;
    // Rows of containers that are gone end in any case, so that no run looks for them again.
    const ended = deletes ? seen : seen.filter(({ it }) => !it);
    withdrawal.removed += (await remove(ended, 'withdrawn', dependencies)).size;
    if (isOver()) return;
  }
}

async function withdrawDirect(
  datasetIds: ReadonlySet<string>,
  withdrawals: ReadonlyMap<string, Withdrawal>,
  dependencies: WithdrawalDependencies,
  { deletes, isOver }: Omit<WithdrawalOptions, 'limit'>,
): Promise<void> {
  const count = (name: 'found' | 'removed', containers: readonly OutboxContainer[]) => {
    for (const { facts } of containers) {
      const withdrawal = withdrawals.get(facts.datasetId ?? '');
      if (withdrawal) withdrawal[name] += 1;
    }
  };
  const { outbox } = dependencies;
  const isWanted = ({ facts }: OutboxContainer) => datasetIds.has(facts.datasetId ?? '');
  for await (const found of unrecordedContainers(outbox.directKeys(), isWanted, outbox)) {
    count('found', found);
    if (deletes) count('removed', await removeUnrecorded(found, 'withdrawn', dependencies));
    if (isOver()) return;
  }
}
