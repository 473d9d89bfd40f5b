import { Crypt4ghError, PassphraseError } from '../../../crypt4gh/index.ts';
import { UsageError } from '../../../terminal/errors.ts';
import { failureOf } from '../../../terminal/failure.ts';
import { type Output, printable } from '../../../terminal/output.ts';
import { ClientError, type ClientErrorCode } from '../../api/errors.ts';
import { clientFailure } from '../failure.ts';

/** The result of one check. */
export interface CheckResult {
  /** Such as `certificate`. */
  readonly check: string;
  readonly verdict: 'ok' | 'warning' | 'failed' | 'skipped';
  /** One line for people. */
  readonly text: string;
  /** What to do, in a sentence. */
  readonly remedy?: string | undefined;
  /** With `failed`: code of the command's error. */
  readonly code?: ClientErrorCode;
  /** What was found, for programs. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

type Details = CheckResult['details'];

export function ok(check: string, text: string, details?: Details): CheckResult {
  return { check, verdict: 'ok', text, details };
}

export function skipped(check: string, text: string): CheckResult {
  return { check, verdict: 'skipped', text };
}

export function warning(check: string, text: string, remedy: string, details?: Details): CheckResult {
  return { check, verdict: 'warning', text, remedy, details };
}

/** A check that failed without an error. */
export function wrong(
  check: string,
  text: string,
  remedy: string,
  code: ClientErrorCode = 'usage',
  details?: Details,
): CheckResult {
  return { check, verdict: 'failed', code, text, remedy, details };
}

/** The result of a check that failed or could not be made. Rethrows defects and interruptions. */
export function failed(check: string, error: unknown, ownRemedy?: string): CheckResult {
  const code = codeOf(error);
  if (code === undefined || code === 'interrupted') throw error;
  const { message, remedy } = failureOf(error, clientFailure);
  return { check, verdict: 'failed', text: message, remedy: ownRemedy ?? remedy, code };
}

function codeOf(error: unknown): ClientErrorCode | undefined {
  if (error instanceof ClientError || error instanceof UsageError) return error.code;
  if (error instanceof PassphraseError) return 'forbidden';
  return error instanceof Crypt4ghError ? 'usage' : undefined;
}

/**
 * Shows results as they come.
 * @returns the error of the first failed check, which is often the cause of the others; `undefined` when no check failed
 */
export async function showChecks(
  results: AsyncIterable<CheckResult>,
  { style, result: show }: Output,
): Promise<ClientError | undefined> {
  const colours = { ok: style.good, warning: style.doubtful, failed: style.bad, skipped: style.faint };
  const failures: CheckResult[] = [];
  let count = 0;
  for await (const result of results) {
    const { check, verdict, text, remedy, details } = result;
    if (verdict !== 'skipped') count += 1;
    if (verdict === 'failed') failures.push(result);
    const help = remedy === undefined ? '' : `\n${' '.repeat(22)}${printable(remedy)}`;
    const line = `${colours[verdict](verdict.padEnd(8))} ${check.padEnd(12)} ${printable(text)}`;
    show({ check, verdict, text, remedy, ...details }, `${line}${help}`);
  }
  const [first] = failures;
  if (first === undefined) return undefined;
  const message = `${failures.length} of ${count} checks failed, first: ${first.check}`;
  return new ClientError(first.code ?? 'usage', message);
}
