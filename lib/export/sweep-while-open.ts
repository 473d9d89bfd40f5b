import type { Clock } from '../archive/ports.ts';
import { openMarkerKey } from '../contract/outbox-key.ts';
import type { RemovableOutbox } from './withdraw/ports.ts';

/** An invocation that wrote the marker has recorded its request, or ended without it. */
const longestOpeningMs = 20 * 60_000;
/** The bucket forgets objects after a day at the earliest. */
const refreshMs = 12 * 3_600_000;

interface SweepWhileOpenDependencies {
  readonly outbox: Pick<RemovableOutbox, 'head' | 'remove' | 'markOpen'>;
  /** Whether a request waits for its receipt. */
  readonly hasUnsettled: () => Promise<boolean>;
  readonly now: Clock;
}

/**
 * Sweep while something may be open, as the marker in the outbox says. The database is not asked otherwise.
 *
 * @param isNet also sweep without the marker
 */
export async function sweepWhileOpen(
  { outbox, hasUnsettled, now }: SweepWhileOpenDependencies,
  isNet: boolean,
  sweep: () => Promise<void>,
): Promise<void> {
  // The net does not ask S3 first, because it also serves the day on which the marker cannot be read.
  if (!isNet && !(await outbox.head(openMarkerKey))) return;
  await sweep();
  const marker = await outbox.head(openMarkerKey);
  const ageMs = marker ? now().getTime() - marker.lastModified.getTime() : Number.POSITIVE_INFINITY;
  if (await hasUnsettled()) {
    if (ageMs > refreshMs) await outbox.markOpen();
  } else if (marker && ageMs > longestOpeningMs) {
    // A request that was opened meanwhile has replaced the marker, which then stays.
    await outbox.remove(openMarkerKey, marker.etag);
  }
}
