import type { IncomingHttpHeaders } from 'node:http';
import { AwsError } from '../endpoint/errors.ts';
import { noSuchKey, notImplemented, preconditionFailed } from './refusals.ts';
import type { StoredObject } from './stored-object.ts';

/**
 * Whether a writer's conditions hold for the object under the key now (S3 user guide, "Conditional requests").
 *
 * @throws AwsError PreconditionFailed; NoSuchKey for If-Match without an object
 */
export function checkWrite(key: string, present: StoredObject | undefined, headers: IncomingHttpHeaders): void {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  if (headers['if-modified-since'] !== undefined || headers['if-unmodified-since'] !== undefined) {
    throw notImplemented('conditions with dates on writes');
  }
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

/** Whether a copier's conditions hold for the source. @throws AwsError PreconditionFailed */
export function checkCopySource(source: StoredObject, headers: IncomingHttpHeaders): void {
  const prefix = 'x-amz-copy-source-';
  if (!judged(source, headers, prefix)) throw preconditionFailed(`${prefix}If-None-Match`);
}

/** A condition on the entity tag wins over one on the date. */
function judged({ etag, lastModified }: StoredObject, headers: IncomingHttpHeaders, prefix: string): boolean {
  const [match, unmodifiedSince, noneMatch, modifiedSince] = [
    ...['if-match', 'if-unmodified-since', 'if-none-match', 'if-modified-since'],
  ].map((name) => headers[prefix + name]?.toString());
  if (match !== undefined) {
    if (!named(match, etag)) throw preconditionFailed('If-Match');
  } else if (unmodifiedSince !== undefined && lastModified > time(unmodifiedSince)) {
    throw preconditionFailed('If-Unmodified-Since');
  }
  if (noneMatch !== undefined) return !named(noneMatch, etag);
  return modifiedSince === undefined || lastModified > time(modifiedSince);
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

function time(text: string): number {
  const value = Date.parse(text);
  if (Number.isNaN(value)) throw new AwsError(400, 'InvalidArgument', 'a date of a condition is not a date');
  return value;
}
