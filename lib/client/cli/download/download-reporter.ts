import { problemOf } from '../../../terminal/failure.ts';
import type { Output } from '../../../terminal/output.ts';
import { counted, formatBytes, formatDuration, printable } from '../../../terminal/output.ts';
import type { Progress, ProgressTask } from '../../../terminal/progress.ts';
import type { DownloadEvent, FileResult } from '../../api/download/download-file.ts';
import type { ClientError } from '../../api/errors.ts';
import { type DeliverySummary, summaryRecord, summaryText } from './delivery-summary.ts';

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
  /** `bytes` of the files that were downloaded, as they are in storage. */
  const counts = { downloaded: 0, skipped: 0, bytes: 0 };
  /** A file that starts again keeps its progress bar. */
  const started = (name: string, size: number, kept: number) => {
    const task = tasks.get(name);
    task?.setTotal(size);
    task?.set(kept);
    if (task === undefined) tasks.set(name, progress.task(printable(name), size, kept));
  };
  const finished = ({ name, size, path, outcome, verified, error }: FileResult) => {
    if (outcome !== 'failed') counts[outcome] += 1;
    if (outcome === 'downloaded') counts.bytes += size;
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
      if (event.type === 'started') started(event.name, event.size, event.kept);
      else if (event.type === 'progress') tasks.get(event.name)?.add(event.bytes);
      else if (event.type === 'finished') finished(event.result);
      else {
        const text = `${event.error.message}; trying again`;
        if (remarks.get(event.name) !== text) output.note(about(event.name, text));
        remarks.set(event.name, text);
      }
    },

    /**
     * @param elapsed of the whole run, in milliseconds
     * @param delivery what the receipts say of the files; absent without receipts
     */
    summarize(elapsed: number, delivery?: DeliverySummary): void {
      const { downloaded, skipped, bytes } = counts;
      // Files that were not begun have no result.
      const failed = files - downloaded - skipped;
      if (output.json) {
        const summary = { files, downloaded, skipped, failed, bytes, ...(delivery && summaryRecord(delivery)) };
        output.result({ summary }, '');
        return;
      }
      // The command itself reports these.
      if (files === 0 || (isSingle && failed > 0)) return;
      const parts = [
        `${downloaded} downloaded (${formatBytes(bytes)} in ${formatDuration(elapsed)})`,
        ...(skipped > 0 ? [`${skipped} already present`] : []),
        ...(failed > 0 ? [`${failed} not whole`] : []),
      ];
      const sum = `${counted(files, 'file')}: ${parts.join(', ')}`;
      output.note(`${sum}${delivery ? summaryText(delivery) : ''}`);
    },
  };
}

function about(name: string, text: string): string {
  return printable(text.startsWith(name) ? text : `${name}: ${text}`);
}
