import { type OutboxFacts, outboxFactsOf } from '../../../contract/outbox-key.ts';
import { forEachConcurrently } from '../../archive/concurrency.ts';
import type { ContainerFilter, EndedContainer, ExportEvent, OutboxRecords, RecordedContainer } from '../ledger-port.ts';
import type { RemovableOutbox } from '../ports.ts';

/** Why a container is removed, as the audit trail names it. */
export type Removal = 'withdrawn' | 'purged';

export interface OutboxContainer {
  readonly key: string;
  readonly etag: string;
  readonly bytes: number;
  readonly lastModified: Date;
  /** As its own metadata has them. */
  readonly facts: Partial<OutboxFacts>;
}

/** A recorded container, and what the outbox has under its key: it, nothing, or a container that is not meant. */
export type FoundContainer = RecordedContainer &
  (
    | ({ readonly found: 'it' } & OutboxContainer)
    | { readonly found: 'nothing' }
    | { readonly found: 'another'; readonly by: string | undefined }
  );

export interface RemovalDependencies {
  readonly outbox: RemovableOutbox;
  readonly ledger: OutboxRecords;
}

const inFlight = 16;

async function containerUnder(key: string, outbox: RemovableOutbox): Promise<OutboxContainer | undefined> {
  const head = await outbox.head(key);
  if (!head) return undefined;
  const { etag, size: bytes, lastModified, metadata } = head;
  return { key, etag, bytes, lastModified, facts: outboxFactsOf(metadata) };
}

/**
 * Look up recorded containers in the outbox. An object is one of them only if its own metadata names the dataset or the
 * request of the filter.
 */
export async function lookUp(
  containers: readonly RecordedContainer[],
  filter: ContainerFilter,
  outbox: RemovableOutbox,
): Promise<readonly FoundContainer[]> {
  const seen: FoundContainer[] = [];
  await forEachConcurrently(containers, inFlight, async (container) => {
    const present = await containerUnder(container.key, outbox);
    if (!present) seen.push({ ...container, found: 'nothing' });
    else if (isOf(present.facts, filter)) seen.push({ ...container, ...present, found: 'it' });
    else seen.push({ ...container, found: 'another', by: present.facts.requestId });
  });
  return seen;
}

/**
 * Remove containers from the outbox, and write down what happened to each. An object that was replaced since it was seen
 * stays, and so does its row. After a failure, the same containers are found again.
 *
 * @returns the keys of the objects that were deleted
 */
export async function remove(
  containers: readonly FoundContainer[],
  removal: Removal,
  { outbox, ledger }: RemovalDependencies,
): Promise<ReadonlySet<string>> {
  const removed = new Set<string>();
  const events: ExportEvent[] = [];
  const ended: EndedContainer[] = [];
  await forEachConcurrently(containers, inFlight, async (container) => {
    if (container.found === 'another') {
      ended.push({ ...container, end: 'superseded' });
      return;
    }
    const end = container.found === 'it' ? await outbox.remove(container.key, container.etag) : 'gone';
    if (end === 'replaced') return;
    // An attempt that was given up has usually left no container.
    if (end === 'gone' && container.state === 'given_up') return;
    ended.push({ ...container, end: 'withdrawn' });
    const { requestId, datasetId, fileId, recipient } = container;
    events.push({
      requestId,
      event: removal,
      datasetId,
      fileId,
      recipient,
      ...(container.found === 'it' && end === 'removed' && auditFactsOf(container)),
    });
    if (end === 'removed') removed.add(container.key);
  });
  if (ended.length > 0) {
    // Their requests get another receipt.
    await outbox.markOpen();
    await ledger.recordRemoval(ended, events);
  }
  return removed;
}

function auditFactsOf({ bytes, facts }: OutboxContainer): Pick<ExportEvent, 'bytes' | 'keyFingerprint'> {
  return { bytes, keyFingerprint: facts.keyFingerprint };
}

function isOf(facts: Partial<OutboxFacts>, filter: ContainerFilter): boolean {
  if ('datasetId' in filter) return facts.datasetId === filter.datasetId;
  return 'recipient' in filter || facts.requestId === filter.requestId;
}

/**
 * Short-lived containers of direct access that hold files of these datasets, page after page. No row tells of them, and
 * their keys follow from their bytes. So each of them is asked for its dataset.
 */
export async function* directContainers(
  datasetIds: ReadonlySet<string>,
  outbox: RemovableOutbox,
): AsyncGenerator<readonly OutboxContainer[]> {
  for await (const keys of outbox.directKeys()) {
    const found: OutboxContainer[] = [];
    await forEachConcurrently(keys, inFlight, async (key) => {
      const container = await containerUnder(key, outbox);
      if (container && datasetIds.has(container.facts.datasetId ?? '')) found.push(container);
    });
    yield found;
  }
}

/** Remove containers of direct access, each while it is the one that was seen. @returns those that were deleted */
export async function removeDirect(
  containers: readonly OutboxContainer[],
  removal: Removal,
  { outbox, ledger }: RemovalDependencies,
): Promise<readonly OutboxContainer[]> {
  const removed: OutboxContainer[] = [];
  await forEachConcurrently(containers, inFlight, async (container) => {
    if ((await outbox.remove(container.key, container.etag)) === 'removed') removed.push(container);
  });
  const events = removed.flatMap((container): ExportEvent[] => {
    const { requestId, datasetId, fileId } = container.facts;
    if (requestId === undefined || datasetId === undefined || fileId === undefined) return [];
    return [{ requestId, event: removal, datasetId, fileId, ...auditFactsOf(container) }];
  });
  if (events.length > 0) await ledger.recordRemoval([], events);
  return removed;
}
