import { DataOutError } from '../errors.ts';

/**
 * A data file or its index breaks the rule in the message, exceeds a limit in it, or has no place to cut. Both are given exactly
 * as they were taken, so another request does not help. `message` holds no bytes of them. A wrong argument is a `RangeError`.
 */
export class RegionsError extends DataOutError {
  constructor(rule: string, options?: ErrorOptions) {
    super('unsupported_format', `The file cannot be cut into regions: ${rule}`, options);
  }
}
