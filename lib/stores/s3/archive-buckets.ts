import { ArchiveLocationUnknownError } from '../../errors.ts';

/** Names of the buckets with archived bodies, the default first. */
export type ArchiveBuckets = readonly [string, ...string[]];

/** Value of the environment variable `archiveBuckets`. */
export function parseArchiveBuckets(text: string): ArchiveBuckets {
  const [first = '', ...others] = text.split(',');
  return [first, ...others];
}

/**
 * The bucket that a row of the catalogue names in `archive_location`. Ingestion pipelines write `<endpoint>/<bucket>`;
 * `s3://<bucket>` and `<bucket>` are accepted, too. The endpoint is ignored.
 *
 * @param location `undefined` or empty: the default bucket
 * @throws ArchiveLocationUnknownError
 */
export function bucketAt(location: string | undefined, buckets: ArchiveBuckets): string {
  if (!location) return buckets[0];
  const [, bucket] = /^(?:s3:\/\/|(?:https?:\/\/)?[^/]+\/)?([^/]+)\/?$/.exec(location) ?? [];
  if (bucket === undefined || !buckets.includes(bucket)) throw new ArchiveLocationUnknownError(location);
  return bucket;
}
