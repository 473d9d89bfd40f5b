import { problemOf } from '../../../terminal/failure.ts';
import type { Output } from '../../../terminal/output.ts';
import { counted, formatBytes, formatDuration, printable } from '../../../terminal/output.ts';
import type { Progress, ProgressTask } from '../../../terminal/progress.ts';
import type { DownloadEvent, FileResult } from '../../api/download/download-file.ts';
import type { ClientError } from '../../api/errors.ts';
import type { Claims } from '../../api/receipts/claims.ts';
import { summaryRecord, summaryText } from './delivery-summary.ts';

/**
 * Shows a user the downloads of a run: progress, remarks, one result for each file, and a summary.
 * @param files number of files. The command itself reports the error of a single file.
 */
export function downloadReporter(output: Output, progress: Progress, files: number) {
  const isSingle = files === 1;
  const tasks = new Map<string, ProgressTask>();
  /** The last remark about each file, which is not repeated: several connections fail together. */
  const remarks = new Map<string, string>();
  const shownErrors = new Set<ClientError>();
  const finished = ({ name, size, path, outcome, verified, error }: FileResult) => {
    const isStopped = error?.code === 'interrupted';
    // A file that the user stopped is not one that is done.
    if (!isStopped) {
      const task = tasks.get(name) ?? progress.task(printable(name), size, outcome === 'skipped' ? size : 0);
      task.end();
    }
    tasks.delete(name);
    const record = { name, outcome, size, path, verified, ...(error && { error: problemOf(error) }) };
    if (outcome !== 'failed' || output.json) {
      output.result(record, `${outcome === 'skipped' ? 'kept ' : ''}${printable(path)}`);
    } else if (error && !isSingle && !isStopped && !shownErrors.has(error)) {
      // An error that stopped the run is the error of every file that did not start, so it is shown once.
      shownErrors.add(error);
      output.warn(about(name, error.message));
    }
  };
  return {
    onEvent(event: DownloadEvent): void {
      if (event.type === 'finished') return void finished(event.result);
      const { type, name } = event;
      const task = tasks.get(name);
      if (type === 'progress') task?.add(event.bytes);
      else if (type === 'started') {
        const { size, kept } = event;
        // A file that starts again keeps its progress bar.
        if (task) task.set(kept, size);
        else tasks.set(name, progress.task(printable(name), size, kept));
      } else {
        const text = `${event.error.message}; trying again`;
        if (remarks.get(name) !== text) output.note(about(name, text));
        remarks.set(name, text);
      }
    },

    /**
     * @param elapsed of the whole run, in milliseconds
     * @param results of all files, also of those that were not begun
     */
    summarize(elapsed: number, results: readonly FileResult[], claims: Claims): void {
      const came = results.filter(({ outcome }) => outcome === 'downloaded');
      const skipped = results.filter(({ outcome }) => outcome === 'skipped').length;
      const bytes = came.reduce((sum, { size }) => sum + size, 0);
      const failed = files - came.length - skipped;
      if (output.json) {
        const counts = { files, downloaded: came.length, skipped, failed, bytes };
        output.result({ summary: { ...counts, ...summaryRecord(results, claims) } }, '');
        return;
      }
      // The command itself reports these.
      if (files === 0 || (isSingle && failed > 0)) return;
      const parts = [
        `${came.length} downloaded (${formatBytes(bytes)} in ${formatDuration(elapsed)})`,
        ...(skipped > 0 ? [`${skipped} already present`] : []),
        ...(failed > 0 ? [`${failed} not whole`] : []),
      ];
      output.note(`${counted(files, 'file')}: ${parts.join(', ')}${summaryText(results, claims)}`);
    },
  };
}

function about(name: string, text: string): string {
  return printable(text.startsWith(name) ? text : `${name}: ${text}`);
}
