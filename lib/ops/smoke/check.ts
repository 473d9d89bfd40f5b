import { setTimeout as pause } from 'node:timers/promises';
import { errorName } from '../../service/stores/aws-failure.ts';
import type { Run } from './run.ts';
import { expectThat } from './steps.ts';

/** One line of the suite. */
export interface Check {
  /** Stable, for scripts. */
  readonly id: string;
  /** What holds when it passes. */
  readonly title: string;
  /** Ids of the checks whose results it uses. If one of them did not pass, this one is skipped. */
  readonly needs?: readonly string[];
  /** What to do when it fails. */
  readonly remedy: string;
  /** It runs its parts with {@link Run.steps}, which name themselves. */
  readonly inSteps?: true;
  /** @returns what was seen. @throws when it does not hold; {@link NotApplicable} when this deployment cannot show it */
  readonly run: (run: Run) => Promise<string>;
}

/** The outcome of a check. */
export interface CheckResult {
  readonly id: string;
  readonly check: string;
  readonly result: 'passed' | 'failed' | 'skipped';
  readonly seconds: number;
  /** What was seen, or why it failed or was skipped. */
  readonly found: string;
  /** What to do, for a failed check. */
  readonly remedy?: string;
}

/** This deployment cannot show whether the check holds. The message says why. */
export class NotApplicable extends Error {
  override readonly name = 'NotApplicable';
}

/** @throws NotApplicable when the deployment has no direct API */
export function needsDirectApi({ apis }: Run): void {
  if (!apis.includes('data-out')) throw new NotApplicable('the deployment has no direct access');
}

/**
 * Run checks one after the other. A check that fails ends none but those that need it.
 *
 * @param onResult called after each
 * @returns the results so far, also after an interrupt
 */
export async function runChecks(
  checks: readonly Check[],
  run: Run,
  onResult: (result: CheckResult) => void,
): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  const passed = new Set<string>();
  for (const check of checks) {
    if (run.signal.aborted) break;
    const result = await runCheck(check, run, passed);
    // What an interrupt breaks is not a failure of the service.
    if (run.signal.aborted) break;
    if (result.result === 'passed') passed.add(check.id);
    results.push(result);
    onResult(result);
  }
  return results;
}

export async function runCheck(
  { id, title, needs = [], remedy, run: perform }: Check,
  run: Run,
  passed: ReadonlySet<string> = new Set(),
): Promise<CheckResult> {
  const started = performance.now();
  const done = (result: CheckResult['result'], found: string) => ({
    ...{ id, check: title, result },
    seconds: Math.round((performance.now() - started) / 100) / 10,
    found,
    ...(result === 'failed' && { remedy }),
  });
  const missing = needs.find((need) => !passed.has(need));
  if (missing !== undefined) return done('skipped', `${missing} did not pass`);
  try {
    return done('passed', await perform(run));
  } catch (error) {
    return error instanceof NotApplicable ? done('skipped', error.message) : done('failed', messageOf(error));
  }
}

/** One line without a secret: errors of the service and of AWS hold none, but URLs in them may be signed. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? `${errorName(error)}: ${error.message}` : String(error);
  return text
    .replace(/^(OpsError|Error): /, '')
    .replaceAll(/\?\S*X-Amz-\S*/g, '?…')
    .replaceAll(/\s+/g, ' ')
    .slice(0, 4000);
}

/** Ask until there is an answer. @throws OpsError `verification_failed` after so many seconds */
export async function poll<T>(
  ask: () => Promise<T | undefined>,
  { seconds, signal, what }: { readonly seconds: number; readonly signal: AbortSignal; readonly what: string },
): Promise<T> {
  const giveUp = Date.now() + seconds * 1000;
  for (let wait = 200; ; wait = Math.min(2000, wait * 1.5)) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    expectThat(Date.now() < giveUp, `${what}: nothing after ${seconds} s`);
    await pause(wait, undefined, { signal });
  }
}
