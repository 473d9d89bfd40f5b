import type { ClientError } from '../client/errors.ts';

/** An error as `--json` has it. */
export function described({ code, message, remedy }: ClientError) {
  return { code, message, ...(remedy !== undefined && { remedy }) };
}
