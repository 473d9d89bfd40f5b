import { forEachConcurrently } from '../archive/concurrency.ts';
import type { DeadLetter, DeadLetterQueue, HeldLetter } from './ports.ts';

/** Seconds for which a message stays hidden from other readers if this program dies while it looks. */
const holdSeconds = 120;
/** Milliseconds for which a pass holds messages that it leaves. Later it would meet them again. */
const holdMs = 90_000;
/** Messages that are sent back at once. */
const parallel = 10;

/** Which dead letters; all conditions together. @default - all */
export interface LetterFilter {
  readonly requestId?: string;
  readonly messageId?: string;
}

/** What one pass over a queue met. */
export interface Pass {
  readonly queue: string;
  /** The letters that the filter wants, oldest first. */
  readonly letters: readonly DeadLetter[];
  /** How many messages the pass met. */
  readonly seen: number;
  /** About how many the queue had before the pass. */
  readonly count: number;
  /** Whether all that was looked for was surely met. If not, another reader holds messages, or there are very many. */
  readonly isWhole: boolean;
}

interface PassOptions {
  readonly filter: LetterFilter;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** Look at a queue. Other readers see each message again afterwards. */
export async function look(queue: DeadLetterQueue, options: PassOptions): Promise<Pass> {
  return await pass(queue, options, undefined);
}

/**
 * Send the wanted letters of a queue back to work. Other readers see the others again afterwards.
 * @param onReplay called after each
 */
export async function replay(
  queue: DeadLetterQueue,
  options: PassOptions & { readonly onReplay: (letter: DeadLetter) => void },
): Promise<Pass> {
  return await pass(queue, options, async (held) => {
    await held.replay();
    options.onReplay(held.letter);
  });
}

/** @param remove what takes a wanted letter out of the queue. `undefined`: it stays */
async function pass(
  queue: DeadLetterQueue,
  { filter, now, signal }: PassOptions,
  remove: ((held: HeldLetter) => Promise<void>) | undefined,
): Promise<Pass> {
  const count = await queue.count();
  const kept = new Map<string, HeldLetter>();
  const letters = new Map<string, DeadLetter>();
  const seen = new Set<string>();
  let heldSince: number | undefined;
  const isFound = () => filter.messageId !== undefined && letters.has(filter.messageId);
  try {
    while (!isFound() && (heldSince === undefined || now().getTime() - heldSince < holdMs)) {
      signal.throwIfAborted();
      const askedAt = now().getTime();
      const taken = await queue.take(holdSeconds);
      if (taken.length === 0) break;
      // All of them at first, so that a failure below releases them.
      for (const held of taken) kept.set(held.letter.messageId, held);
      for (const { letter } of taken) seen.add(letter.messageId);
      const wanted = taken.filter(({ letter }) => isWanted(letter, filter));
      for (const { letter } of wanted) letters.set(letter.messageId, letter);
      if (remove) {
        await forEachConcurrently(wanted, parallel, async (held) => {
          await remove(held);
          kept.delete(held.letter.messageId);
        });
      }
      if (kept.size > 0) heldSince ??= askedAt;
    }
  } finally {
    await queue.release([...kept.values()]);
  }
  return {
    queue: queue.name,
    letters: [...letters.values()].sort((a, b) => (a.sentAt < b.sentAt ? -1 : 1)),
    seen: seen.size,
    count,
    isWhole: isFound() || seen.size >= count,
  };
}

function isWanted(letter: DeadLetter, { requestId, messageId }: LetterFilter): boolean {
  return (
    (requestId === undefined || letter.requestId === requestId) &&
    (messageId === undefined || letter.messageId === messageId)
  );
}
