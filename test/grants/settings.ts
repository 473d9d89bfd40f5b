import type { Settings } from '../../lib/infra/settings.ts';

/** A bucket with archived bodies that the operator had before, under a key of the operator's own. */
export const otherBucket = {
  bucketName: 'archive-of-2019',
  keyArn: 'arn:aws:kms:eu-north-1:000000000000:key/archive-of-2019',
} as const;

/** The settings that widen roles, each by the name under which the table shows it. */
export const widening: Readonly<Record<string, Partial<Settings>>> = {
  "withdrawal: 'purge'": { withdrawal: 'purge' },
  "events: 'on'": { events: 'on' },
  otherArchiveBuckets: { otherArchiveBuckets: [otherBucket] },
  'receiptKeys: 2': { receiptKeys: 2 },
};

/** All of them together. */
export const widest: Partial<Settings> = Object.assign({}, ...Object.values(widening));
