import * as z from 'zod';
import { outboxPrefix } from '../../contract/outbox-key.ts';
import { usageError } from '../../terminal/errors.ts';

/** What `--subject` takes, for its help. */
export const subjectHelp = "of one person: the visa's claims iss,sub or the outbox prefix";

/**
 * Outbox prefix of a person: of `ISS,SUB`, or the prefix itself, as logs and audit rows have it. The first comma separates the two,
 * because a `sub` may be any text, such as `CN=Jane,O=Example`. For an issuer whose URL has a comma, give the prefix.
 * @throws UsageError
 */
export function parseSubject(text: string): string {
  if (/^[0-9a-f]{64}$/.test(text)) return text;
  const [, iss, sub] = /^([^,]+),(.+)$/s.exec(text) ?? [];
  if (!iss || !sub) throw usageError('--subject', 'expected ISS,SUB or the 64 hex digits of an outbox prefix');
  return outboxPrefix({ iss, sub });
}

/** The id of an export request, in lower case. @throws UsageError */
export function parseRequestId(text: string, field = '--request'): string {
  if (z.guid().safeParse(text).success) return text.toLowerCase();
  throw usageError(field, 'expected the id of a request, as data-out-ops audit shows it');
}
