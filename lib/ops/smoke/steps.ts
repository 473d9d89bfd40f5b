import { formatDuration } from '../../terminal/output.ts';
import { OpsError } from '../errors.ts';

/** What a step has to say for itself, and what the next ones need of it. */
export interface StepResult<T> {
  readonly value: T;
  readonly detail: string;
}

/** Runs one step after the other. */
export interface Steps {
  /** @throws StepFailure, which names the step */
  run<T>(title: string, work: () => Promise<StepResult<T>>): Promise<T>;
}

/** Steps that print nothing. An error names its step. */
export const quietSteps: Steps = {
  async run(title, work) {
    const { value } = await work().catch((cause: unknown) => {
      throw new Error(`${title}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    });
    return value;
  },
};

/** A step did not hold. `cause` is what was thrown. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure';
}

/** Steps that print a numbered line each. @param now milliseconds */
export function createSteps(write: (text: string) => void, now: () => number): Steps {
  let number = 0;
  return {
    async run(title, work) {
      number += 1;
      const label = `${String(number).padStart(2)}  ${title}`;
      const started = now();
      try {
        const { value, detail } = await work();
        write(`${label}: ${detail} (${formatDuration(now() - started)})\n`);
        return value;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new StepFailure(`step ${number} failed, ${title}: ${reason}`, { cause: error });
      }
    },
  };
}

/** What was expected does not hold: the check has failed. @throws OpsError `verification_failed` */
export function expectThat(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new OpsError('verification_failed', otherwise);
}
