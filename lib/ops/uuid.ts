import * as z from 'zod';
import { usageError } from '../terminal/errors.ts';

/**
 * A UUID, in lower case.
 * @param source where the user finds it: `in the answer of POST /export`
 * @throws UsageError
 */
export function parseUuid(field: string, text: string, source: string): string {
  if (!z.guid().safeParse(text).success) throw usageError(field, `expected a UUID, as it stands ${source}`);
  return text.toLowerCase();
}

/** The value of `--request`. @throws UsageError */
export function parseRequestId(text: string): string {
  return parseUuid('--request', text, 'in the answer of POST /export');
}
