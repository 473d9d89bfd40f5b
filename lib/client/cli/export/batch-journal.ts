import { open } from 'node:fs/promises';
import { LocalDiskError, onDisk } from '../../api/download/disk/local-disk.ts';

/** The outcome of one order. */
interface JournalEntry {
  /** See `orderDigest`. */
  readonly digest: string;
  readonly line: number;
  readonly id: string;
  readonly outcome: 'accepted' | 'failed';
  readonly requestId?: string;
  readonly message?: string;
}

/** An order that was accepted in an earlier run. */
interface Accepted {
  readonly requestId: string;
  readonly time: string;
}

/**
 * Opens the journal of a batch, or makes a new one: the outcomes of its orders, in a file beside the batch, one JSON object per
 * line. A second run does not send accepted orders again. The file contains no visa and no password. An order whose answer was
 * not recorded is sent again, which is harmless: the same export writes the same files.
 * @throws LocalDiskError
 */
export async function openJournal(batchPath: string) {
  const path = `${batchPath}.results.jsonl`;
  const { handle, accepted } = await onDisk(path, () => opened(path)).catch((error: unknown) => {
    if (!(error instanceof LocalDiskError)) throw error;
    const remedy =
      'It is written beside the CSV file: copy that file, its visas and keys to a folder where you can write.';
    throw new LocalDiskError(`the journal of the batch: ${error.message}`, { remedy, cause: error });
  });
  /** Outcomes arrive in parallel, and are written one after the other. */
  let writing: Promise<unknown> = Promise.resolve();
  return {
    accepted: (digest: string) => accepted.get(digest),

    /** Writes one outcome. It is on the disk when this resolves. @throws LocalDiskError */
    async append(entry: JournalEntry, now: Date): Promise<void> {
      const time = now.toISOString();
      const written = writing.then(() =>
        onDisk(path, async () => {
          await handle.appendFile(`${JSON.stringify({ time, ...entry })}\n`);
          await handle.datasync();
        }),
      );
      writing = written.catch(() => undefined);
      await written;
      const { digest, outcome, requestId } = entry;
      if (outcome === 'accepted' && requestId !== undefined) accepted.set(digest, { requestId, time });
    },

    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function opened(path: string) {
  const handle = await open(path, 'a+', 0o600);
  try {
    const text = await handle.readFile('utf8');
    // A killed run can leave half a line.
    if (text !== '' && !text.endsWith('\n')) await handle.appendFile('\n');
    return { handle, accepted: acceptedIn(text) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function acceptedIn(text: string): Map<string, Accepted> {
  const accepted = new Map<string, Accepted>();
  for (const line of text.split('\n')) {
    const { digest, outcome, requestId, time } = parsed(line);
    if (outcome !== 'accepted' || typeof digest !== 'string') continue;
    accepted.set(digest, { requestId: String(requestId), time: String(time) });
  }
  return accepted;
}

function parsed(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}
