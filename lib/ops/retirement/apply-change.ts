import type { Waiting } from './api-client.ts';
import { hasCode, isTransient, RetirementError } from './errors.ts';

/** Seconds before each look but the first. */
const delays = [0, 1, 2, 4, 8] as const;

/** A change that is looked for before and after it is made. */
export interface Change<State> {
  read(): Promise<State>;
  isDone(state: State): boolean;
  /** Make it, once. Called with what was just seen. */
  act(state: State): Promise<void>;
  /** What to say when the platform said yes and it still does not show. */
  readonly unproven: string;
}

export interface Applied<State> {
  /** As last seen. */
  readonly state: State;
  /** Whether this run asked for the change; otherwise it was found done. */
  readonly acted: boolean;
}

/**
 * Look; when it is not done, act and look again until it shows. A write whose answer was lost is not sent again before a
 * look says that it had no effect.
 * @throws RetirementError what refused the change, or `not_proven`
 */
export async function applyChange<State>(change: Change<State>, wait: Waiting): Promise<Applied<State>> {
  let failure: unknown;
  let acted = false;
  let accepted = false;
  for (const [index, delay] of delays.entries()) {
    const limit = failure instanceof RetirementError ? (failure.retryAfterSeconds ?? 0) : 0;
    if (limit > wait.maxWaitSeconds) throw failure;
    if (limit > delay && failure instanceof Error) wait.note(`${failure.message}; waiting`);
    const seconds = Math.max(delay, limit);
    if (seconds > 0) await wait.timing.sleep(seconds * 1000, wait.signal);
    const state = await change.read();
    if (change.isDone(state)) return { state, acted };
    if (accepted) continue;
    if (failure !== undefined && !isTransient(failure)) throw failure;
    // Nothing is sent after the last read: no later look would see its effect.
    if (index === delays.length - 1) break;
    acted = true;
    try {
      await change.act(state);
      accepted = true;
      failure = undefined;
    } catch (error) {
      wait.signal.throwIfAborted();
      if (hasCode(error, 'changed_meanwhile')) throw error;
      failure = error;
    }
  }
  throw failure ?? new RetirementError('not_proven', change.unproven);
}
