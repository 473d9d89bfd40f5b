import type { IncomingHttpHeaders } from 'node:http';
import { noSuchKey, notImplemented, preconditionFailed } from './refusals.ts';
import type { StoredObject } from './stored-object.ts';

/**
 * Whether a writer's conditions hold for the object under the key now (S3 user guide, "Conditional requests").
 *
 * @throws AwsError PreconditionFailed; NoSuchKey for If-Match without an object
 */
export function checkWrite(key: string, present: StoredObject | undefined, headers: IncomingHttpHeaders): void {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  refuseDates(headers);
  if (noneMatch !== undefined && noneMatch !== '*') throw notImplemented('If-None-Match other than * on writes');
  if (noneMatch === '*' && present) throw preconditionFailed('If-None-Match');
  if (match === undefined) return;
  if (!present) throw noSuchKey(key);
  if (!named(match, present.etag)) throw preconditionFailed('If-Match');
}

/**
 * Whether a reader's conditions hold (RFC 9110 § 13.2.2).
 *
 * @throws AwsError PreconditionFailed
 * @returns `false`: the reader has this already (304)
 */
export function isModifiedFor(object: StoredObject, headers: IncomingHttpHeaders): boolean {
  return judged(object, headers, '');
}

function refuseDates(headers: IncomingHttpHeaders): void {
  if (headers['if-modified-since'] === undefined && headers['if-unmodified-since'] === undefined) return;
  throw notImplemented('conditions with dates');
}

/** Whether a copier's conditions hold for the source. @throws AwsError PreconditionFailed */
export function checkCopySource(source: StoredObject, headers: IncomingHttpHeaders): void {
  const prefix = 'x-amz-copy-source-';
  if (!judged(source, headers, prefix)) throw preconditionFailed(`${prefix}If-None-Match`);
}

function judged({ etag }: StoredObject, headers: IncomingHttpHeaders, prefix: string): boolean {
  refuseDates(headers);
  const [match, noneMatch] = ['if-match', 'if-none-match'].map((name) => headers[prefix + name]?.toString());
  if (match !== undefined && !named(match, etag)) throw preconditionFailed('If-Match');
  return noneMatch === undefined || !named(noneMatch, etag);
}

/** S3 takes entity tags with and without their quotes. */
function named(list: string, etag: string): boolean {
  const bare = bareTag(etag);
  return list.split(',').some((one) => one.trim() === '*' || bareTag(one.trim().replace(/^W\//, '')) === bare);
}

/** Without its quotes. */
export function bareTag(etag: string): string {
  return etag.replaceAll('"', '');
}
