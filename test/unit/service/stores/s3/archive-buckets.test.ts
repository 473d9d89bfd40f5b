import { expect, it } from 'vitest';
import { bucketAt, parseArchiveBuckets } from '../../../../../lib/service/stores/s3/archive.ts';

const buckets = parseArchiveBuckets('default,archive-1,archive.two');

it.each([
  [undefined, 'default'],
  ['', 'default'],
  ['default', 'default'],
  ['archive-1', 'archive-1'],
  ['s3://archive.two', 'archive.two'],
  ['s3://archive-1/', 'archive-1'],
  // The forms of neicnordic/sensitive-data-archive: the endpoint as configured, a slash, the bucket.
  ['https://s3.eu-north-1.amazonaws.com/archive-1', 'archive-1'],
  ['http://minio:9000/archive-1', 'archive-1'],
  ['s3.example.org:443/archive.two', 'archive.two'],
])('a body at %j is in the bucket %s', (location, bucket) => {
  expect(bucketAt(location, buckets)).toBe(bucket);
});

it.each([
  'other',
  'https://s3.example.org/other',
  'https://archive-1/other',
  'https://s3.example.org',
  's3://other/archive-1',
  'https://s3.example.org/folder/archive-1',
  // A POSIX volume of the same pipeline.
  '/archive-1',
  'default,archive-1',
  ' ',
])('a body at %j is nowhere, and the error names the place', (location) => {
  const find = () => bucketAt(location, buckets);
  expect(find).toThrow(expect.objectContaining({ code: 'archive_location_unknown' }));
  expect(find).toThrow(JSON.stringify(location));
});
