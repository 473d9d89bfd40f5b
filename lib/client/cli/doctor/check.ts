import { UsageError } from '../../../terminal/errors.ts';
import { type Output, printable } from '../../../terminal/output.ts';
import { ClientError, type ClientErrorCode } from '../../api/errors.ts';

/** The result of one check. */
export interface CheckResult {
  /** Such as `certificate`. */
  readonly check: string;
  readonly verdict: 'ok' | 'warning' | 'failed' | 'skipped';
  /** One line for people. */
  readonly text: string;
  /** What to do, in a sentence. */
  readonly remedy?: string | undefined;
  /** With `failed`: code of the command's error; default: `usage`. */
  readonly code?: ClientErrorCode;
  /** What was found, for programs. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** The result of a check that failed or could not be made. Rethrows defects and interruptions. */
export function failed(check: string, error: unknown, ownRemedy?: string): CheckResult {
  const isKnown = error instanceof ClientError || error instanceof UsageError;
  if (!isKnown || error.code === 'interrupted') throw error;
  const { code, message, remedy } = error;
  return { check, verdict: 'failed', text: message, remedy: ownRemedy ?? remedy, code };
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
