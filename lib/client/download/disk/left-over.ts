import type { ByteRange } from '../../../contract/byte-range.ts';
import { isRecognizable, type ObjectVersion } from '../remote/remote-file.ts';
import { type Form, partDone, readJournal } from './journal.ts';
import type { LocalPaths } from './local-name.ts';
import type { PartFile } from './part-file.ts';
import { bootId } from './processes.ts';

/** The rest of an earlier run, if it is of the same file in the same form; `exists`: whether there is any rest. */
export async function leftOver(
  part: PartFile,
  paths: LocalPaths,
  wanted: { readonly name: string; readonly form: Form; readonly size: number },
): Promise<{
  readonly resumed: { readonly version: ObjectVersion; readonly done: readonly ByteRange[] } | undefined;
  readonly exists: boolean;
  readonly synced: readonly ByteRange[];
}> {
  const journal = await readJournal(paths.journal);
  const partSize = await part.size();
  const exists = journal !== 'absent' || partSize > 0;
  if (journal === 'absent' || journal === 'unusable') return { resumed: undefined, exists, synced: [] };
  const { name, form, version } = journal;
  const done = partDone(journal, bootId);
  const isSame = name === wanted.name && form === wanted.form && version.size === wanted.size;
  // A truncated part file invalidates the journal.
  const reach = form === 'container' ? (done.at(-1)?.end ?? 0) : Math.min(1, done.length);
  const isUsable = isSame && isRecognizable(version) && partSize >= reach;
  return isUsable
    ? { resumed: { version, done }, exists, synced: journal.synced }
    : { resumed: undefined, exists, synced: [] };
}
