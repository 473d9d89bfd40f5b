import { open, readFile } from 'node:fs/promises';
import { ifThere, LocalDiskError, onDisk } from '../../api/download/disk/local-disk.ts';

/** A step of one order. `sending` without a later step: the answer was lost, or the run was killed. */
interface JournalEntry {
  /** See `orderDigest`. */
  readonly digest: string;
  readonly line: number;
  readonly id: string;
  readonly outcome: 'sending' | 'accepted' | 'refused';
  readonly requestId?: string;
  readonly message?: string;
}

/** An order that an earlier run sent. */
interface Earlier {
  /** `undefined`: it is not known whether the order was accepted. */
  readonly requestId: string | undefined;
  /** When that was, in ISO 8601. */
  readonly time: string;
}

/**
 * Opens the journal of a batch, or makes a new one: the steps of its orders, in a file beside the batch, one JSON object per line.
 * The file contains no visa and no password.
 * @param options.readOnly nothing is made or written
 * @throws LocalDiskError
 */
export async function openJournal(batchPath: string, { readOnly }: { readonly readOnly: boolean }) {
  const path = `${batchPath}.results.jsonl`;
  const { handle, text } = await onDisk(path, () => opened(path, readOnly)).catch((error: unknown) => {
    if (!(error instanceof LocalDiskError)) throw error;
    const remedy =
      'It is written beside the CSV file: copy that file, its visas and keys to a folder where you can write.';
    throw new LocalDiskError(`the journal of the batch: ${error.message}`, { remedy, cause: error });
  });
  const sent = sentIn(text);
  return {
    sent: (digest: string) => sent.get(digest),

    /** Writes one step. It is on the disk when this resolves. @throws LocalDiskError */
    async append(entry: JournalEntry, now: Date): Promise<void> {
      if (handle === undefined) return;
      const time = now.toISOString();
      await onDisk(path, async () => {
        await handle.appendFile(`${JSON.stringify({ time, ...entry })}\n`);
        await handle.datasync();
      });
    },

    [Symbol.asyncDispose]: async () => await handle?.close(),
  };
}

async function opened(path: string, readOnly: boolean) {
  if (readOnly) return { handle: undefined, text: (await ifThere(readFile(path, 'utf8'))) ?? '' };
  const handle = await open(path, 'a+', 0o600);
  try {
    const text = await handle.readFile('utf8');
    // A killed run can leave half a line.
    if (text !== '' && !text.endsWith('\n')) await handle.appendFile('\n');
    return { handle, text };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function sentIn(text: string): Map<string, Earlier> {
  const sent = new Map<string, Earlier>();
  for (const line of text.split('\n')) {
    const { digest, outcome, requestId, time } = parsed(line);
    if (typeof digest !== 'string') continue;
    if (outcome === 'refused') sent.delete(digest);
    else sent.set(digest, { requestId: requestId === undefined ? undefined : String(requestId), time: String(time) });
  }
  return sent;
}

function parsed(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}
