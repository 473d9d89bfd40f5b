import { InvalidRequestError, type Violation } from '../errors.ts';

/**
 * Reads one part of a request. The rules that it breaks are added to `violations`: one reply then names those of all parts.
 *
 * @returns `undefined` when the part breaks a rule
 */
export function collected<T>(violations: Violation[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    violations.push(...error.violations);
    return undefined;
  }
}
