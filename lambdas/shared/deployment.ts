import type { Context } from 'aws-lambda';
import { whenSettled } from '../../lib/stores/settling.ts';
import { describeError, logger } from './observability.ts';

/** Time that is kept to report a failure before Lambda ends the invocation. */
const reserveMs = 3000;

/** Milliseconds that an invocation has left for its work. */
export function workingMs(context: Context): number {
  return context.getRemainingTimeInMillis() - reserveMs;
}

/** Run a step of a deployment by {@link whenSettled} within the time of the invocation, with its refusals in the log. */
export function settled<T>(attempt: () => Promise<T>, context: Context): Promise<T> {
  return whenSettled(attempt, {
    remainingMs: workingMs(context),
    onRefusal: (error) => logger.warn('refused, perhaps not for long', describeError(error)),
  });
}
