import { open, readFile, rename, rm } from 'node:fs/promises';
import { ifThere, onDisk } from './local-disk.ts';
import { type ByteRange, RangeSet } from './range-set.ts';
import type { ObjectVersion } from './remote-file.ts';

/** What the part file becomes: the container as it is, or its plaintext. */
export type Form = 'container' | 'plaintext';

/** What of a part file is there. Holds no URL, no credentials and no key. */
export interface Journal {
  readonly name: string;
  readonly form: Form;
  readonly version: ObjectVersion;
  /** Bytes of the remote file, also when the part is its plaintext: all that is written. */
  readonly done: readonly ByteRange[];
  /** Those of them that are on the disk for good. */
  readonly synced: readonly ByteRange[];
  /** Since when the machine runs that has written the others. Another one has lost them. */
  readonly boot: string | undefined;
}

const currentFormat = 1;
/** A journal of more is none of ours. */
const mostRanges = 1_000_000;

/**
 * Writes the journal in one step: whatever stops the process, there is the old one or the new one. What it calls synced
 * must be on the disk before.
 *
 * @param options.sync whether the journal itself is to be on the disk when this resolves
 * @throws LocalDiskError
 */
export async function writeJournal(path: string, journal: Journal, options: { readonly sync: boolean }): Promise<void> {
  const { name, form, version, boot } = journal;
  const [done, synced] = [journal.done, journal.synced].map((ranges) => ranges.map(({ start, end }) => [start, end]));
  const text = `${JSON.stringify({ format: currentFormat, name, form, ...version, boot, synced, done })}\n`;
  const next = `${path}.new`;
  await onDisk(path, async () => {
    {
      // Whatever has that name, above all a link, is not written through.
      await rm(next, { force: true });
      await using file = await open(next, 'wx', 0o600);
      await file.writeFile(text);
      if (options.sync) await file.datasync();
    }
    await rename(next, path);
  });
}

/** What a journal says is there, for the machine as it runs now. */
export function partDone({ done, synced, boot }: Journal, now: string | undefined): readonly ByteRange[] {
  return boot !== undefined && boot === now ? done : synced;
}

/** The journal at `path`; `unusable` when it is none that can be trusted. @throws LocalDiskError */
export async function readJournal(path: string): Promise<Journal | 'absent' | 'unusable'> {
  const text = await onDisk(path, () => ifThere(readFile(path, 'utf8')));
  return text === undefined ? 'absent' : (parseJournal(text) ?? 'unusable');
}

/** @throws LocalDiskError */
export async function removeJournal(path: string): Promise<void> {
  await onDisk(path, async () => {
    await rm(path, { force: true });
    await rm(`${path}.new`, { force: true });
  });
}

function parseJournal(text: string): Journal | undefined {
  try {
    const { format, name, form, size, etag, lastModified, boot, ...lists } = JSON.parse(text) as Record<
      string,
      unknown
    >;
    if (format !== currentFormat || typeof name !== 'string' || (form !== 'container' && form !== 'plaintext'))
      return undefined;
    if (!isSize(size) || ![etag, lastModified, boot].every(isOptionalText)) return undefined;
    const [done, synced] = [rangesIn(lists['done'], size), rangesIn(lists['synced'], size)];
    if (done === undefined || synced === undefined) return undefined;
    const version = { size, etag, lastModified } as ObjectVersion;
    return { name, form, version, done, synced, boot: boot as string | undefined };
  } catch {
    return undefined;
  }
}

function rangesIn(list: unknown, size: number): readonly ByteRange[] | undefined {
  if (!Array.isArray(list) || list.length > mostRanges) return undefined;
  const ranges = new RangeSet();
  for (const range of list as unknown[]) {
    const [start, end, ...more] = Array.isArray(range) ? (range as unknown[]) : [];
    if (!isSize(start) || !isSize(end) || start >= end || end > size || more.length > 0) return undefined;
    ranges.add(start, end);
  }
  return ranges.ranges;
}

function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}
