import { setTimeout as pause } from 'node:timers/promises';
import { errorName } from '../../service/stores/aws-failure.ts';
import { OpsError } from '../errors.ts';
import type { Run } from './run.ts';

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
  if (!apis.includes('direct')) throw new NotApplicable('the deployment has no direct API');
}

/** What was expected does not hold: the check has failed. @throws OpsError `verification_failed` */
export function expectThat(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new OpsError('verification_failed', otherwise);
}

/** @param passed ids of the checks that passed before; gets the id of this one */
export async function runCheck(check: Check, run: Run, passed = new Set<string>()): Promise<CheckResult> {
  const { id, title, needs = [], remedy } = check;
  const started = performance.now();
  const done = (result: CheckResult['result'], found: string) => ({
    ...{ id, check: title, result, found },
    seconds: Math.round((performance.now() - started) / 100) / 10,
    ...(result === 'failed' && { remedy }),
  });
  const missing = needs.find((need) => !passed.has(need));
  if (missing !== undefined) return done('skipped', `${missing} did not pass`);
  try {
    const found = await check.run(run);
    passed.add(id);
    return done('passed', found);
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
  { signal }: Pick<Run, 'signal'>,
  seconds: number,
  what: string,
  ask: () => Promise<T | undefined>,
): Promise<T> {
  const giveUp = Date.now() + seconds * 1000;
  for (let wait = 200; ; wait = Math.min(2000, wait * 1.5)) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    expectThat(Date.now() < giveUp, `${what}: nothing after ${seconds} s`);
    await pause(wait, undefined, { signal });
  }
}
