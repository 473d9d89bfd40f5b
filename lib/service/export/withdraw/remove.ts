import { forEachConcurrently } from '../../../common/concurrently.ts';
import { type OutboxFacts, outboxFactsOf } from '../../../contract/outbox-key.ts';
import type { DeliveriesQueue } from '../../stores/queues.ts';
import { snakeCase } from '../../stores/rds/columns.ts';
import type { SqlExecutor } from '../../stores/rds/data-api.ts';
import type { Outbox } from '../../stores/s3/outbox.ts';
import { audit, requestIds, sendToSettle } from '../requests.ts';
import type { ContainerFilter, RecordedContainer } from './containers.ts';

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

/** A recorded container, and what the outbox has under its key: it, another one, or nothing. */
export interface FoundContainer extends RecordedContainer {
  readonly it?: OutboxContainer;
  readonly another?: OutboxContainer;
}

export interface RemovalDependencies {
  readonly db: SqlExecutor;
  readonly outbox: Pick<Outbox, 'head' | 'remove' | 'directKeys'>;
  /** Takes the requests that lose a container, for their next receipt. */
  readonly deliveries: DeliveriesQueue;
}

const inFlight = 16;

async function containerUnder(key: string, outbox: Pick<Outbox, 'head'>): Promise<OutboxContainer | undefined> {
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
  outbox: Pick<Outbox, 'head'>,
): Promise<readonly FoundContainer[]> {
  const seen: FoundContainer[] = [];
  await forEachConcurrently(containers, inFlight, async (container) => {
    const present = await containerUnder(container.key, outbox);
    const found = present && (isOf(present.facts, filter) ? { it: present } : { another: present });
    seen.push({ ...container, ...found });
  });
  return seen;
}

function isOf(facts: Partial<OutboxFacts>, filter: ContainerFilter): boolean {
  if ('datasetId' in filter) return facts.datasetId === filter.datasetId;
  return 'recipient' in filter || facts.requestId === filter.requestId;
}

/**
 * Remove containers from the outbox, and write down what happened to each. An object that was replaced since it was seen stays, and so does
 * its row. After a failure, the same containers are found again.
 *
 * @returns the keys of the objects that were deleted
 */
export async function remove(
  containers: readonly FoundContainer[],
  removal: Removal,
  { outbox, db, deliveries }: RemovalDependencies,
): Promise<ReadonlySet<string>> {
  const removed = new Set<string>();
  const ended: EndedContainer[] = [];
  await forEachConcurrently(containers, inFlight, async ({ requestId, fileId, key, state, it, another }) => {
    if (another) {
      ended.push({ requestId, fileId, key, end: 'superseded', by: another.facts.requestId, owner: requestId });
      return;
    }
    const end = it ? await outbox.remove(key, it.etag) : 'gone';
    if (end === 'replaced') return;
    // An attempt that was given up has usually left no container.
    if (end === 'gone' && state === 'given_up') return;
    const bytes = end === 'removed' ? it?.bytes : undefined;
    ended.push({ requestId, fileId, key, end: 'withdrawn', bytes, owner: it?.facts.requestId ?? requestId });
    if (end === 'removed') removed.add(key);
  });
  if (ended.length > 0) {
    const changed = await recordRemoval(ended, removal, db);
    // Also requests of these rows that an earlier run changed, if it died before it sent them.
    await sendToSettle([...changed, ...ended.map(({ requestId }) => requestId)], { db, deliveries });
  }
  return removed;
}

/** What has become of a recorded container. `superseded`: the key now has a container that stays, of the request `by`. */
type EndedContainer = Pick<RecordedContainer, 'requestId' | 'fileId' | 'key'> & {
  readonly end: 'withdrawn' | 'superseded';
  readonly bytes?: number | undefined;
  readonly by?: string | undefined;
  /** The request that wrote it. */
  readonly owner: string;
};

/**
 * Record what has become of containers, with audit rows: everything or nothing. With a withdrawn container go the older ones under its
 * key, which it had replaced or superseded. The revision of a request that loses one rises. A repeated statement finds the rows ended.
 *
 * @returns the requests whose revision rose
 */
export function recordRemoval(containers: readonly EndedContainer[], removal: Removal, db: SqlExecutor) {
  return requestIds(
    db,
    `with given as materialized (
       select * from jsonb_to_recordset(cast(:containers as jsonb)) as g
         (request_id uuid, file_id text, key text, "end" text, by uuid, bytes bigint, owner uuid)
     ), own as (
       update data_out.request_files f
       set state = g."end", reason = null, superseded_by = g.by, outbox_key = g.key, changed_at = now()
       from given g
       where f.request_id = g.request_id and f.file_id = g.file_id and f.state in ('staged', 'given_up')
       returning f.request_id, f.state
     ), others as (
       update data_out.request_files f set state = 'withdrawn', superseded_by = null, changed_at = now()
       where f.state in ('staged', 'superseded')
         and f.outbox_key in (select g.key from given g where g."end" = 'withdrawn')
         and (f.request_id, f.file_id) not in (select g.request_id, g.file_id from given g)
         and exists (
           select from given g join data_out.requests w on w.request_id = g.owner
           join data_out.requests r on r.request_id = f.request_id
           where g.key = f.outbox_key and (r.requested_at, r.request_id) <= (w.requested_at, w.request_id))
       returning f.request_id
     ), raised as (
       update data_out.requests r set revision = r.revision + 1
       where r.request_id in (
         select o.request_id from own o where o.state = 'withdrawn' union select o.request_id from others o)
       returning r.request_id
     ), audited as (
       ${audit(`select g.request_id, :removal, cast(null as text), r.archive_kind, r.dataset_id, g.file_id, r.recipient,
         case when g.bytes is not null then r.key_fingerprint end, g.bytes, cast(null as text)
       from given g join data_out.requests r on r.request_id = g.request_id where g."end" = 'withdrawn'`)}
     )
     select cast(request_id as text) as request_id from raised`,
    { removal, containers: { json: containers.map(snakeCase) } },
  );
}

/**
 * Containers that no row names, page after page: short-lived ones of the direct API, whose keys follow from their bytes, and what a function
 * left that died. What each holds, its metadata says.
 */
export async function* unrecordedContainers(
  pages: AsyncIterable<readonly string[]>,
  isWanted: (container: OutboxContainer) => boolean,
  outbox: Pick<Outbox, 'head'>,
): AsyncGenerator<readonly OutboxContainer[]> {
  for await (const keys of pages) {
    const found: OutboxContainer[] = [];
    await forEachConcurrently(keys, inFlight, async (key) => {
      const container = await containerUnder(key, outbox);
      if (container && isWanted(container)) found.push(container);
    });
    yield found;
  }
}

/** Remove containers that no row names, each while it is the one that was seen. @returns those that were deleted */
export async function removeUnrecorded(
  containers: readonly OutboxContainer[],
  removal: Removal,
  { outbox, db }: RemovalDependencies,
): Promise<readonly OutboxContainer[]> {
  const removed: OutboxContainer[] = [];
  await forEachConcurrently(containers, inFlight, async (container) => {
    if ((await outbox.remove(container.key, container.etag)) === 'removed') removed.push(container);
  });
  const events = removed.flatMap(({ bytes, facts: { requestId, datasetId, fileId, keyFingerprint } }) =>
    requestId === undefined ? [] : [snakeCase({ requestId, datasetId, fileId, keyFingerprint, bytes })],
  );
  if (events.length > 0) {
    await db.execute(
      audit(`select e.request_id, :removal, cast(null as text), cast(null as text), e.dataset_id, e.file_id, cast(null as text),
         e.key_fingerprint, e.bytes, cast(null as text)
       from jsonb_to_recordset(cast(:events as jsonb)) as e
         (request_id uuid, dataset_id text, file_id text, key_fingerprint text, bytes bigint)`),
      { removal, events: { json: events } },
    );
  }
  return removed;
}
