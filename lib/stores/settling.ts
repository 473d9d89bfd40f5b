import { TemporarilyUnavailableError } from '../errors.ts';
import { errorName } from './aws-failure.ts';
import { type RetryEnvironment, retrying } from './retry.ts';

/**
 * Error names by which AWS refuses a call that it will take soon: a new role or its policy is not known everywhere yet
 * (IAM is eventually consistent), or a cluster is still being made.
 */
const refusals = new Set([
  'AccessDenied',
  'AccessDeniedException',
  'DatabaseNotFoundException',
  'ForbiddenException',
  'HttpEndpointNotEnabledException',
  'InvalidClientTokenId',
  'InvalidDBClusterStateFault',
  'InvalidResourceStateException',
  'SecretsErrorException',
  'UnrecognizedClientException',
]);

/** IAM and RDS settle within a minute or two. A permission that is missing should fail the deployment soon after. */
const longestMs = 5 * 60_000;

interface SettlingOptions extends RetryEnvironment {
  /** Milliseconds that all attempts and pauses together may take, of which at most five minutes are used. */
  readonly remainingMs: number;
  /** Gets each refusal after which there may be another attempt. */
  readonly onRefusal: (error: unknown) => void;
}

/**
 * Run `attempt`, which must be repeatable, as part of a deployment: again while AWS refuses it for a reason that passes
 * soon after a role or a cluster was made.
 *
 * @throws the last refusal when the time is over; any other failure at once
 */
export async function whenSettled<T>(attempt: () => Promise<T>, options: SettlingOptions): Promise<T> {
  const { remainingMs, onRefusal, ...environment } = options;
  try {
    return await retrying(attempt, {
      ...environment,
      budgetMs: Math.min(remainingMs, longestMs),
      isRetryable: (error) => {
        const passes = refusals.has(errorName(error));
        if (passes) onRefusal(error);
        return passes;
      },
      firstPauseMs: 1000,
      maxPauseMs: 15_000,
      what: 'AWS',
    });
  } catch (error) {
    // The refusal says which permission on what is missing.
    if (error instanceof TemporarilyUnavailableError && refusals.has(errorName(error.cause))) throw error.cause;
    throw error;
  }
}
