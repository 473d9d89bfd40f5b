import { forEachConcurrently } from '../../service/archive/concurrency.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import type { DeadLetter, DeadLetterQueue, ReceivedLetter } from '../stores/dead-letter-queue.ts';

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
  /** Outbox prefix of a person whom the message names. */
  readonly person?: string;
}

/** What one pass over a queue met. */
export interface QueueSearch {
  readonly queue: string;
  /** The letters that the filter wants, oldest first. */
  readonly letters: readonly DeadLetter[];
  /** How many messages the pass met. */
  readonly seen: number;
  /** How many of them cannot be read. They may name any person. */
  readonly unreadable: number;
  /** How many of them the pass had sent to work before: they failed again at once. */
  readonly back: number;
  /** About how many the queue had before the pass. */
  readonly count: number;
  /** Whether all that was looked for was surely met. If not, another reader holds messages, or there are very many. */
  readonly isWhole: boolean;
}

/** Whose clock and signal a pass has. */
type Pass = Pick<Terminal, 'now' | 'signal'>;

/** Look at a queue. Other readers see each message again afterwards. */
export async function search(queue: DeadLetterQueue, filter: LetterFilter, by: Pass): Promise<QueueSearch> {
  return await pass(queue, filter, by);
}

/**
 * Send the wanted letters of a queue back to work. Other readers see the others again afterwards.
 * @param onReplay called after each
 */
export async function replay(
  queue: DeadLetterQueue,
  filter: LetterFilter,
  by: Pass,
  onReplay: (letter: DeadLetter) => void,
): Promise<QueueSearch> {
  const sent = new Set<string>();
  const met = await pass(queue, filter, by, async (received) => {
    // Its cause persists, so sending it repeatedly would never end.
    if (sent.has(received.letter.messageId)) return false;
    sent.add(await received.replay());
    onReplay(received.letter);
    return true;
  });
  return { ...met, back: met.letters.filter(({ messageId }) => sent.has(messageId)).length };
}

/** Delete the wanted letters of a queue. Other readers see the others again afterwards. */
export async function discard(queue: DeadLetterQueue, filter: LetterFilter, by: Pass): Promise<QueueSearch> {
  return await pass(queue, filter, by, async (received) => {
    await received.remove();
    return true;
  });
}

/** Where messages may be left after passes, for a message: `NAME (met 10 of about 12)`. Empty: nowhere. */
export function restOf(passes: readonly QueueSearch[]): string {
  const rest = passes.filter(({ isWhole }) => !isWhole);
  return rest.map(({ queue, seen, count }) => `${queue} (met ${seen} of about ${count})`).join(', ');
}

/** @param remove takes a wanted letter out of the queue, and returns whether it did. `undefined`: it stays */
async function pass(
  queue: DeadLetterQueue,
  filter: LetterFilter,
  { now, signal }: Pass,
  remove?: (received: ReceivedLetter) => Promise<boolean>,
): Promise<QueueSearch> {
  const count = await queue.count();
  const kept = new Map<string, ReceivedLetter>();
  const letters = new Map<string, DeadLetter>();
  const seen = new Set<string>();
  const unreadable = new Set<string>();
  let heldSince: number | undefined;
  const isFound = () => filter.messageId !== undefined && letters.has(filter.messageId);
  try {
    while (!isFound() && (heldSince === undefined || now().getTime() - heldSince < holdMs)) {
      signal.throwIfAborted();
      const askedAt = now().getTime();
      const taken = await queue.take(holdSeconds);
      if (taken.length === 0) break;
      // All of them at first, so that a failure below releases them.
      for (const received of taken) kept.set(received.letter.messageId, received);
      for (const { letter, people } of taken) {
        seen.add(letter.messageId);
        if (people === undefined) unreadable.add(letter.messageId);
      }
      const wanted = taken.filter((received) => isWanted(received, filter));
      for (const { letter } of wanted) letters.set(letter.messageId, letter);
      if (remove) {
        await forEachConcurrently(wanted, parallel, async (received) => {
          if (await remove(received)) kept.delete(received.letter.messageId);
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
    unreadable: unreadable.size,
    back: 0,
    count,
    isWhole: isFound() || seen.size >= count,
  };
}

function isWanted({ letter, people = [] }: ReceivedLetter, { requestId, messageId, person }: LetterFilter): boolean {
  return (
    (requestId === undefined || letter.requestId === requestId) &&
    (messageId === undefined || letter.messageId === messageId) &&
    (person === undefined || people.includes(person))
  );
}
