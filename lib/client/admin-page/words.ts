import { counted } from '../../common/text.ts';
import type { ExportState, ListedExport } from '../../contract/export-state.ts';
import { explainReason } from '../../contract/reasons.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** A span of time in its largest whole unit: `5 seconds`, `1 hour`, `29 days`. */
export function span(milliseconds: number): string {
  const [size, unit] =
    milliseconds < minute
      ? ([1000, 'second'] as const)
      : milliseconds < hour
        ? ([minute, 'minute'] as const)
        : milliseconds < day
          ? ([hour, 'hour'] as const)
          : ([day, 'day'] as const);
  const count = Math.max(0, Math.floor(milliseconds / size));
  return counted(count, unit);
}

/** A time for people, in UTC as in the client: `2026-11-21 10:00:00 UTC`. Text that is not a time stays. */
export function moment(time: Date | string): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** A time from now: `in 29 days (2026-12-21 10:00:00 UTC)`, `5 minutes ago (…)`. */
export function relative(time: Date, now: Date): string {
  const difference = time.getTime() - now.getTime();
  const words = difference > 0 ? `in ${span(difference)}` : `${span(-difference)} ago`;
  return `${words} (${moment(time)})`;
}

/** `2 of 3`; `? of 3` where the service did not count. */
export function stagedOf({ counts }: Pick<ListedExport, 'counts'>): string {
  return `${counts.staged ?? '?'} of ${counts.total}`;
}

const states: Readonly<Record<ExportState, string>> = {
  accepted: 'The visa and the dataset were right. No file has settled yet.',
  staging: 'Some files have settled. The others are being written to the outbox.',
  complete: 'Every file is in the outbox.',
  incomplete: 'Some files are not in the outbox. The list of its files says why.',
  withdrawn: 'Its containers were taken back, with the dataset or by the operator. Ask the operator.',
  rejected: 'Nothing was staged. Remove the reason, then export again.',
};

export function explainState(state: ExportState): string {
  return states[state];
}

/** A reason code with what it means, and what to do. An unknown code stays alone. */
export function reasonInWords(code: string): string {
  const known = explainReason(code);
  return known === undefined ? code : `${code}: ${known.meaning}. ${known.remedy}`;
}
