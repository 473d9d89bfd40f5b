import { open, readFile, rename, rm } from 'node:fs/promises';
import { ifThere, onDisk } from './local-disk.ts';
import { type ByteRange, RangeSet } from './range-set.ts';
import type { ObjectVersion } from './remote-file.ts';

/** What the part file becomes: the container as it is, or its plaintext. */
export type Form = 'container' | 'plaintext';

/** What of a part file is on the disk for good. Holds no URL, no credentials and no key. */
export interface Journal {
  readonly name: string;
  readonly form: Form;
  readonly version: ObjectVersion;
  /** Bytes of the remote file, also when the part is its plaintext. */
  readonly done: readonly ByteRange[];
}

const FORMAT = 1;
/** A journal of more is none of ours. */
const MOST_RANGES = 1_000_000;

/**
 * Writes the journal in one step: whatever stops the process, there is the old one or the new one. What it says must be
 * on the disk before.
 *
 * @throws LocalDiskError
 */
export async function writeJournal(path: string, { name, form, version, done }: Journal): Promise<void> {
  const { size, etag, lastModified } = version;
  const ranges = done.map(({ start, end }) => [start, end]);
  const text = `${JSON.stringify({ format: FORMAT, name, form, size, etag, lastModified, done: ranges })}\n`;
  const next = `${path}.new`;
  await onDisk(path, async () => {
    {
      await using file = await open(next, 'w', 0o600);
      await file.writeFile(text);
      await file.datasync();
    }
    await rename(next, path);
  });
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
    const { format, name, form, size, etag, lastModified, done } = JSON.parse(text) as Record<string, unknown>;
    if (format !== FORMAT || typeof name !== 'string' || (form !== 'container' && form !== 'plaintext'))
      return undefined;
    if (!isSize(size) || !isOptionalText(etag) || !isOptionalText(lastModified)) return undefined;
    if (!Array.isArray(done) || done.length > MOST_RANGES) return undefined;
    const ranges = new RangeSet();
    for (const range of done as unknown[]) {
      const [start, end, ...more] = Array.isArray(range) ? (range as unknown[]) : [];
      if (!isSize(start) || !isSize(end) || start >= end || end > size || more.length > 0) return undefined;
      ranges.add(start, end);
    }
    return { name, form, version: { size, etag, lastModified }, done: ranges.ranges };
  } catch {
    return undefined;
  }
}

function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}
