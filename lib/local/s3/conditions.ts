import type { IncomingHttpHeaders } from 'node:http';
import { AwsError } from '../endpoint/errors.ts';
import { noSuchKey, notImplemented, preconditionFailed } from './refusals.ts';
import type { StoredObject } from './stored-object.ts';

type Conditions = Readonly<Record<'match' | 'noneMatch' | 'modifiedSince' | 'unmodifiedSince', string | undefined>>;

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
  return judged(object, {
    match: headers['if-match'],
    noneMatch: headers['if-none-match'],
    modifiedSince: headers['if-modified-since'],
    unmodifiedSince: headers['if-unmodified-since'],
  });
}

/** Whether a copier's conditions hold for the source. @throws AwsError PreconditionFailed */
export function checkCopySource(source: StoredObject, headers: IncomingHttpHeaders): void {
  const condition = (name: string) => {
    const value = headers[`x-amz-copy-source-${name}`];
    return value === undefined ? undefined : String(value);
  };
  const holds = judged(source, {
    match: condition('if-match'),
    noneMatch: condition('if-none-match'),
    modifiedSince: condition('if-modified-since'),
    unmodifiedSince: condition('if-unmodified-since'),
  });
  if (!holds) throw preconditionFailed('x-amz-copy-source-If-None-Match');
}

/** A condition on the entity tag wins over one on the date. */
function judged({ etag, lastModified }: StoredObject, conditions: Conditions): boolean {
  const { match, noneMatch, modifiedSince, unmodifiedSince } = conditions;
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
