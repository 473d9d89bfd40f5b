import { ArchiveLocationUnknownError } from '../../../errors.ts';

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

/**
 * Value of `x-amz-copy-source`: bucket and key, percent-encoded segment by segment. S3 decodes it, a `+` as a space
 * too, and the SDK sends it as given. Slashes stay: they separate the segments of the key.
 */
export function copySource(bucket: string, key: string): string {
  const encoded = key.split('/').map((segment) =>
    // encodeURIComponent leaves five characters that RFC 3986 reserves.
    encodeURIComponent(segment).replace(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
  );
  return `${bucket}/${encoded.join('/')}`;
}
