import { counted } from '../../common/text.ts';
import type { ExportState, ListedExport } from '../../contract/export-state.ts';
import { explainReason } from '../../contract/reasons.ts';

const second = [1000, 'second'] as const;
const units = [[86_400_000, 'day'] as const, [3_600_000, 'hour'] as const, [60_000, 'minute'] as const, second];

/** A span of time in its largest whole unit: `5 seconds`, `1 hour`, `29 days`. */
export function span(milliseconds: number): string {
  const [size, unit] = units.find(([least]) => milliseconds >= least) ?? second;
  return counted(Math.max(0, Math.floor(milliseconds / size)), unit);
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

/** What each state means. */
export const stateInWords: Readonly<Record<ExportState, string>> = {
  accepted: 'The visa and the dataset were right. No file has settled yet.',
  staging: 'Some files have settled. The others are being written to the outbox.',
  complete: 'Every file is in the outbox.',
  incomplete: 'Some files are not in the outbox. The list of its files says why.',
  withdrawn: 'Its containers were taken back, with the dataset or by the operator. Ask the operator.',
  rejected: 'Nothing was staged. Fix the cause, then export again.',
};

/** A reason code with what it means, and what to do. An unknown code stays alone. */
export function reasonInWords(code: string): string {
  const known = explainReason(code);
  return known === undefined ? code : `${code}: ${known.meaning}. ${known.remedy}`;
}
