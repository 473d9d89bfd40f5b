import { open, readFile, rename, rm } from 'node:fs/promises';
import * as z from 'zod/mini';
import type { ByteRange } from '../../../../crypt4gh/index.ts';
import { isRecognizable, type ObjectVersion } from '../remote/remote-file.ts';
import { ifThere, onDisk } from './local-disk.ts';
import type { LocalPaths } from './local-name.ts';
import type { PartFile } from './part-file.ts';
import { bootId } from './processes.ts';
import { RangeSet } from './range-set.ts';

/** Which bytes of a part file are written. Holds no URL, no credentials and no key. */
export interface Journal {
  readonly name: string;
  readonly version: ObjectVersion;
  /** All bytes that are written. */
  readonly done: readonly ByteRange[];
  /** The part of `done` that was synced: it survives a crash of the machine. */
  readonly synced: readonly ByteRange[];
  /** The boot under which the rest of `done` was written: after another boot that rest may be lost. */
  readonly boot: string | undefined;
}

const currentFormat = 1;
/** A journal with more ranges is not one of ours. */
const mostRanges = 1_000_000;

/**
 * Replaces the journal in one step: a crash leaves the old one or the new one. The bytes that it calls synced must be on the
 * disk before.
 * @param options.sync whether to wait until the journal itself is on the disk
 * @throws LocalDiskError
 */
export async function writeJournal(path: string, journal: Journal, options: { readonly sync: boolean }): Promise<void> {
  const { name, version, boot } = journal;
  const [done, synced] = [journal.done, journal.synced].map((ranges) => ranges.map(({ start, end }) => [start, end]));
  const text = `${JSON.stringify({ format: currentFormat, name, ...version, boot, synced, done })}\n`;
  const next = `${path}.new`;
  await onDisk(path, async () => {
    {
      // A link of that name must not be written through.
      await rm(next, { force: true });
      await using file = await open(next, 'wx', 0o600);
      await file.writeFile(text);
      if (options.sync) await file.datasync();
    }
    await rename(next, path);
  });
}

/** The ranges of a journal that can be relied on. @param now the present boot */
export function partDone({ done, synced, boot }: Journal, now: string | undefined): readonly ByteRange[] {
  return boot !== undefined && boot === now ? done : synced;
}

/** The journal at `path`; `unusable` if it is malformed. @throws LocalDiskError */
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

const size = z.int().check(z.nonnegative());
const ranges = z.array(z.tuple([size, size])).check(z.maxLength(mostRanges));

const saved = z.object({
  ...{ format: z.literal(currentFormat), name: z.string(), size },
  ...{ etag: z.optional(z.string()), lastModified: z.optional(z.string()), boot: z.optional(z.string()) },
  ...{ done: ranges, synced: ranges },
});

function parseJournal(text: string): Journal | undefined {
  try {
    const { name, size, etag, lastModified, boot, ...lists } = saved.parse(JSON.parse(text));
    const [done, synced] = [rangesIn(lists.done, size), rangesIn(lists.synced, size)];
    if (done === undefined || synced === undefined) return undefined;
    return { name, version: { size, etag, lastModified }, done, synced, boot };
  } catch {
    return undefined;
  }
}

function rangesIn(list: z.infer<typeof ranges>, size: number): readonly ByteRange[] | undefined {
  const found = new RangeSet();
  for (const [start, end] of list) {
    if (start >= end || end > size) return undefined;
    found.add(start, end);
  }
  return found.ranges;
}

/** The rest of an earlier run, if it is of the same file; `exists`: whether there is any rest. */
export async function leftOver(
  part: PartFile,
  paths: LocalPaths,
  wanted: { readonly name: string; readonly size: number },
): Promise<{
  readonly resumed: { readonly version: ObjectVersion; readonly done: readonly ByteRange[] } | undefined;
  readonly exists: boolean;
  readonly synced: readonly ByteRange[];
}> {
  const journal = await readJournal(paths.journal);
  const partSize = await part.size();
  const exists = journal !== 'absent' || partSize > 0;
  if (journal === 'absent' || journal === 'unusable') return { resumed: undefined, exists, synced: [] };
  const { name, version } = journal;
  const done = partDone(journal, bootId);
  const isSame = name === wanted.name && version.size === wanted.size;
  // A truncated part file invalidates the journal.
  const reach = done.at(-1)?.end ?? 0;
  const isUsable = isSame && isRecognizable(version) && partSize >= reach;
  return isUsable
    ? { resumed: { version, done }, exists, synced: journal.synced }
    : { resumed: undefined, exists, synced: [] };
}
