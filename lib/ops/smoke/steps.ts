import { formatDuration } from '../../terminal/output.ts';
import { OpsError } from '../errors.ts';

/**
 * Runs one step after the other.
 * @param describe says what was seen. @default - the work returns it
 * @throws an error that names the step
 */
export type Steps = <T>(title: string, work: () => Promise<T>, describe?: (value: T) => string) => Promise<T>;

/** Steps that print nothing. */
export const quietSteps: Steps = (title, work) =>
  work().catch((cause: unknown) => {
    throw new Error(`${title}: ${cause instanceof Error ? cause.message : cause}`, { cause });
  });

/** A step did not hold. `cause` is what was thrown. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure';
}

/** Steps that print a numbered line each. They throw a StepFailure. @param now milliseconds */
export function createSteps(write: (text: string) => void, now: () => number): Steps {
  let number = 0;
  return async (title, work, describe = String) => {
    number += 1;
    const started = now();
    const value = await work().catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : cause;
      throw new StepFailure(`step ${number} failed, ${title}: ${reason}`, { cause });
    });
    write(`${String(number).padStart(2)}  ${title}: ${describe(value)} (${formatDuration(now() - started)})\n`);
    return value;
  };
}

/** What was expected does not hold: the check has failed. @throws OpsError `verification_failed` */
export function expectThat(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new OpsError('verification_failed', otherwise);
}
