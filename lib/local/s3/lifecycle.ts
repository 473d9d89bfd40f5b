import type { Bucket } from './bucket.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** Carry out the rules of a bucket: S3 acts at the first midnight UTC after the days are over (S3 user guide, "Expiring objects"). */
export function applyLifecycle(bucket: Bucket, now: Date): void {
  const isOver = (since: number, days: number) => Math.ceil((since + days * dayMs) / dayMs) * dayMs <= now.getTime();
  for (const { prefix, expirationDays, abortUploadsDays } of bucket.lifecycle) {
    if (expirationDays !== undefined) {
      for (const key of [...bucket.keys.from(prefix, '')]) {
        if (isOver(bucket.find(key)?.lastModified ?? now.getTime(), expirationDays)) bucket.delete(key);
      }
    }
    if (abortUploadsDays === undefined) continue;
    for (const upload of bucket.uploads.list()) {
      if (upload.key.startsWith(prefix) && isOver(upload.initiated, abortUploadsDays)) {
        bucket.uploads.end(upload, new Set());
      }
    }
  }
}
