import { createHash } from 'node:crypto';
import type { Region } from '../../lib/regions/index.ts';
import { type Named, vector } from './region-files.ts';

/** Names of records by file and region, as htslib lists them. */
export const answers: Record<string, Record<string, { count: number; sha256: string }>> = JSON.parse(
  vector('answers.json').toString(),
);
/** Regions as samtools writes them, separated by spaces. */
export function parsed(text: string): Region[] {
  if (text === 'whole') return [];
  return text.split(' ').map((region) => {
    const [referenceName = '', from, to] = region.split(/[:-]/);
    return from ? { referenceName, start: Number(from) - 1, end: Number(to) } : { referenceName };
  });
}

/** Names of the records that overlap a region; of all records if there is none. */
export function within(records: readonly Named[], regions: readonly Region[]): string[] {
  const fits = ({ reference, start, end }: Named) =>
    regions.some(
      (region) =>
        reference === region.referenceName &&
        (reference === '*' || (start < (region.end ?? Number.POSITIVE_INFINITY) && end > (region.start ?? 0))),
    );
  return records.filter((record) => regions.length === 0 || fits(record)).map(({ name }) => name);
}

/** Count and digest of names as `answers.json` has them. */
export function digest(names: readonly string[]) {
  const sha256 = createHash('sha256')
    .update(names.map((name) => `${name}\n`).join(''))
    .digest('hex');
  return { count: names.length, sha256 };
}
