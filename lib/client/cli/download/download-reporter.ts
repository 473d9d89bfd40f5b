import { problemOf } from '../../../terminal/failure.ts';
import type { Output } from '../../../terminal/output.ts';
import { counted, formatBytes, formatDuration, printable } from '../../../terminal/output.ts';
import type { Progress, ProgressTask } from '../../../terminal/progress.ts';
import type { DownloadEvent, FileResult } from '../../api/download/events.ts';
import type { ClientError } from '../../api/errors.ts';
import { type DeliverySummary, summaryRecord, summaryText } from './delivery-summary.ts';

/** Counts of a whole run. */
export interface DownloadSummary {
  readonly files: number;
  readonly downloaded: number;
  readonly skipped: number;
  readonly failed: number;
  /** Bytes of the files that were downloaded, as they are in storage. */
  readonly bytes: number;
}

/** Shows a user the downloads of a run: progress, remarks, one result for each file, and a summary. */
export class DownloadReporter {
  readonly #output: Output;
  readonly #progress: Progress;
  readonly #isSingle: boolean;
  readonly #tasks = new Map<string, ProgressTask>();
  /** The last remark about each file: several connections fail together, and the user reads it once. */
  readonly #remarks = new Map<string, string>();
  readonly #shownErrors = new Set<ClientError>();
  readonly #counts = { files: 0, downloaded: 0, skipped: 0, failed: 0, bytes: 0 };

  /** @param files number of files. The error of a single file is that of the command, which reports it. */
  constructor(output: Output, progress: Progress, files: number) {
    this.#output = output;
    this.#isSingle = files === 1;
    this.#progress = progress;
  }

  /** Takes an event of the download. */
  readonly onEvent = (event: DownloadEvent): void => {
    if (event.type === 'started') this.#started(event.name, event.size, event.kept);
    else if (event.type === 'progress') this.#tasks.get(event.name)?.add(event.bytes);
    else if (event.type === 'finished') this.#finished(event.result);
    else this.#remark(event.name, remarkOn(event));
  };

  get summary(): DownloadSummary {
    return { ...this.#counts };
  }

  /**
   * @param elapsed of the whole run, in milliseconds
   * @param delivery what the receipts say of the files; default: there can be none
   */
  summarize(elapsed: number, delivery?: DeliverySummary): void {
    const { files, downloaded, skipped, failed, bytes } = this.#counts;
    if (this.#output.json) {
      this.#output.result({ summary: { ...this.summary, ...(delivery && summaryRecord(delivery)) } }, '');
      return;
    }
    // For these, the command itself says what happened.
    if (files === 0 || (this.#isSingle && failed > 0)) return;
    const parts = [
      `${downloaded} downloaded (${formatBytes(bytes)} in ${formatDuration(elapsed)})`,
      ...(skipped > 0 ? [`${skipped} there already`] : []),
      ...(failed > 0 ? [`${failed} not whole`] : []),
    ];
    const sum = `${counted(files, 'file')}: ${parts.join(', ')}`;
    this.#output.note(`${sum}${delivery ? summaryText(delivery) : ''}`);
  }

  /** A file that starts again keeps its progress bar. */
  #started(name: string, size: number, kept: number): void {
    const task = this.#tasks.get(name);
    task?.setTotal(size);
    task?.set(kept);
    if (task === undefined) this.#tasks.set(name, this.#progress.task(printable(name), size, kept));
  }

  #finished({ name, size, path, outcome, sha256, verified, error }: FileResult): void {
    this.#counts.files += 1;
    this.#counts[outcome] += 1;
    if (outcome === 'downloaded') this.#counts.bytes += size;
    const task = this.#tasks.get(name) ?? this.#progress.task(printable(name), size, outcome === 'skipped' ? size : 0);
    task.end();
    this.#tasks.delete(name);
    const record = { name, outcome, size, path, sha256, verified, ...(error && { error: problemOf(error) }) };
    if (outcome !== 'failed' || this.#output.json) {
      this.#output.result(record, `${outcome === 'skipped' ? 'kept ' : ''}${printable(path)}`);
    } else if (error && !this.#isSingle && error.code !== 'interrupted' && !this.#shownErrors.has(error)) {
      // An error that stopped the whole run is the error of every file that did not start: it is shown once.
      this.#shownErrors.add(error);
      const { message } = error;
      this.#output.warn(printable(message.startsWith(name) ? message : `${name}: ${message}`));
    }
  }

  #remark(name: string, text: string): void {
    if (this.#remarks.get(name) === text) return;
    this.#remarks.set(name, text);
    this.#output.note(printable(text.startsWith(name) ? text : `${name}: ${text}`));
  }
}

function remarkOn(event: Exclude<DownloadEvent, { type: 'started' | 'progress' | 'finished' }>): string {
  switch (event.type) {
    case 'comparing':
      return 'there is a file with another time; comparing it with the staged file';
    case 'retrying':
      return `${event.error.message}; trying again`;
    case 'restarted':
      return 'the file was replaced meanwhile; starting again';
    case 'refetching':
      return `segment ${event.segment} does not authenticate; fetching it again`;
  }
}
