import { failureOf, problemOf } from '../../terminal/failure.ts';
import { counted, formatBytes, formatDuration, type Output, printable } from '../../terminal/output.ts';
import { opsFailure } from '../errors.ts';
import type { AddedFile } from './add-file.ts';
import type { AddResult } from './add-many.ts';

/** Shows the outcomes of a run: a line for each file that is new or failed, and the counts. */
export function addReporter(output: Output) {
  const counts = { added: 0, linked: 0, unchanged: 0, failed: 0 };
  let bytes = 0;
  let local = 0;
  return {
    onResult(result: AddResult): void {
      const { source, status, ...outcome } = result;
      const { label, path, datasetId } = source;
      counts[status] += 1;
      if (result.status === 'failed') {
        const error = problemOf(failureOf(result.error, opsFailure));
        if (output.json) output.result({ path, datasetId, status, error }, '');
        else output.warn(printable(error.message.startsWith(label) ? error.message : `${label}: ${error.message}`));
        return;
      }
      if (output.json) output.result({ ...outcome, path, datasetId, status }, '');
      if (status === 'unchanged') return;
      if (status === 'added') bytes += source.size;
      if (source.fileId === undefined) local += 1;
      if (!output.json) output.result({}, describeAdded(result as AddedFile));
      warnAbout(output, label, result);
    },

    /** @param elapsed of the whole run, in milliseconds */
    summarize(elapsed: number): void {
      const { added, linked, unchanged, failed } = counts;
      if (output.json) output.result({ summary: { ...counts, bytes } }, '');
      const parts = [
        `${added} added (${formatBytes(bytes)} in ${formatDuration(elapsed)})`,
        ...(linked > 0 ? [`${linked} put into the dataset`] : []),
        ...(unchanged > 0 ? [`${unchanged} already present`] : []),
        ...(failed > 0 ? [`${failed} failed`] : []),
      ];
      output.note(`${counted(added + linked + unchanged + failed, 'file')}: ${parts.join(', ')}`);
      if (local > 0) output.note('note: ids that begin with EGAF9 are local, not of the central archive');
    },
  };
}

const happened = {
  added: 'added to',
  linked: 'was in the archive, now also in',
  unchanged: 'was already in',
} as const;

export function describeAdded({ fileId, datasetId, path, status, decryptedSize, sha256 }: AddedFile): string {
  return `${fileId} ${happened[status]} ${datasetId}: ${printable(path)}, ${formatBytes(decryptedSize)}, SHA-256 ${sha256}`;
}

/** An empty file may not be what an operator meant. */
export function warnAbout(output: Output, label: string, { decryptedSize }: Partial<AddedFile>): void {
  if (decryptedSize === 0) output.warn(`${printable(label)} is empty`);
}
