import { forEachConcurrently } from '../../archive/concurrency.ts';
import type { ExportEvent } from '../ports.ts';
import type { RemovableOutbox } from './ports.ts';
import { type HeldContainer, held, inFlight, type Removal, type RemovalDependencies, saidOf } from './remove.ts';

/**
 * Short-lived containers of direct access that hold files of these datasets, page after page. No row tells of them, and
 * their keys follow from their bytes. So each of them is asked for its dataset.
 */
export async function* directContainers(
  datasetIds: ReadonlySet<string>,
  outbox: RemovableOutbox,
): AsyncGenerator<readonly HeldContainer[]> {
  for await (const keys of outbox.directKeys()) {
    const found: HeldContainer[] = [];
    await forEachConcurrently(keys, inFlight, async (key) => {
      const container = await held(key, outbox);
      if (container && datasetIds.has(container.facts.datasetId ?? '')) found.push(container);
    });
    yield found;
  }
}

/** Remove containers of direct access, each while it is the one that was seen. @returns those that were deleted */
export async function removeDirect(
  containers: readonly HeldContainer[],
  removal: Removal,
  { outbox, log }: Pick<RemovalDependencies, 'outbox' | 'log'>,
): Promise<readonly HeldContainer[]> {
  const removed: HeldContainer[] = [];
  await forEachConcurrently(containers, inFlight, async (container) => {
    if ((await outbox.remove(container.key, container.etag)) === 'removed') removed.push(container);
  });
  const events = removed.flatMap((container): ExportEvent[] => {
    const { requestId, datasetId, fileId } = container.facts;
    if (requestId === undefined || datasetId === undefined || fileId === undefined) return [];
    return [{ requestId, event: removal, datasetId, fileId, ...saidOf(container) }];
  });
  if (events.length > 0) await log.record(...events);
  return removed;
}
