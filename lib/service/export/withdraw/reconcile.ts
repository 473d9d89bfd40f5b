import type { CopyRecords } from '../ledger-port.ts';
import { directContainers, lookUp, type RemovalDependencies, remove, removeDirect } from './remove.ts';

export interface WithdrawalDependencies extends RemovalDependencies {
  readonly copies: Pick<CopyRecords, 'ofDataset' | 'uploadsTo' | 'forgetUpload'>;
}

export interface WithdrawalOptions {
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
  copiesEnded: number;
}

/**
 * Take what belongs to deprecated datasets out of the outbox: containers of recipients, short-lived containers of direct
 * access, unfinished copies. A dataset with another newest event, or with none, is left alone. A run may be repeated, and a
 * run after a failure continues.
 *
 * @returns one entry for each dataset of which something was found
 */
export async function withdrawDeprecated(
  dependencies: WithdrawalDependencies,
  { deletes, limit, isOver }: WithdrawalOptions,
): Promise<readonly Withdrawal[]> {
  const datasets = await dependencies.ledger.deprecatedDatasets();
  const recent = new Set(datasets.flatMap(({ datasetId, isRecent }) => (isRecent ? [datasetId] : [])));
  const withdrawals = new Map(
    datasets.map(({ datasetId }): [string, Withdrawal] => [
      datasetId,
      { datasetId, found: 0, removed: 0, copiesEnded: 0 },
    ]),
  );
  const all = [...withdrawals.values()];
  const options = { deletes, limit, isOver: () => isOver() || all.reduce((sum, { found }) => sum + found, 0) >= limit };
  for (const withdrawal of all) {
    if (options.isOver()) break;
    if (deletes) await endCopies(withdrawal, dependencies);
    await reconcileDataset(withdrawal, dependencies, options);
  }
  if (recent.size > 0) await reconcileDirect(recent, withdrawals, dependencies, options);
  return all.filter(({ found, copiesEnded }) => found > 0 || copiesEnded > 0);
}

async function reconcileDataset(
  withdrawal: Withdrawal,
  dependencies: WithdrawalDependencies,
  { deletes, isOver }: WithdrawalOptions,
): Promise<void> {
  const { outbox, ledger } = dependencies;
  const filter = { datasetId: withdrawal.datasetId };
  for await (const page of ledger.containers(filter, { withdrawn: true })) {
    const seen = await lookUp(page, filter, outbox);
    const keys = seen.flatMap(({ found, key }) => (found === 'it' ? [key] : []));
    withdrawal.found += new Set(keys).size;
    // Rows of containers that are gone are closed in any case, so that no run looks for them again.
    const ended = deletes ? seen : seen.filter(({ found }) => found !== 'it');
    withdrawal.removed += (await remove(ended, 'withdrawn', dependencies)).size;
    if (isOver()) return;
  }
}

async function reconcileDirect(
  datasetIds: ReadonlySet<string>,
  withdrawals: ReadonlyMap<string, Withdrawal>,
  { outbox, ledger }: WithdrawalDependencies,
  { deletes, isOver }: WithdrawalOptions,
): Promise<void> {
  const count = (name: 'found' | 'removed', datasetId = '') => {
    const withdrawal = withdrawals.get(datasetId);
    if (withdrawal) withdrawal[name] += 1;
  };
  for await (const found of directContainers(datasetIds, outbox)) {
    for (const { facts } of found) count('found', facts.datasetId);
    const removed = deletes ? await removeDirect(found, 'withdrawn', { outbox, ledger }) : [];
    for (const { facts } of removed) count('removed', facts.datasetId);
    if (isOver()) return;
  }
}

/** `StageFile` would reject these files, but only when their messages come back. */
async function endCopies(withdrawal: Withdrawal, { outbox, copies }: WithdrawalDependencies): Promise<void> {
  for (const copy of await copies.ofDataset(withdrawal.datasetId)) {
    const others = new Set(await copies.uploadsTo(copy.outboxKey));
    others.delete(copy.uploadId);
    await outbox.abortUploads(copy.outboxKey, others);
    await copies.forgetUpload(copy);
    withdrawal.copiesEnded += 1;
  }
}
