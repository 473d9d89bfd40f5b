import { diskProblems } from '../common/disk-problems.ts';
import { InterruptedError, UsageError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';

/** An error as a command reports it: a stable code, one line for people, and what to do. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly remedy?: string | undefined;
}

/** How a failed command ends. */
export interface Failure extends Problem {
  readonly exitCode: number;
}

/** The failure for an error. @param translate knows the errors of the program; this file knows those of the system */
export function failureOf(error: unknown, translate: (error: unknown) => Failure | undefined): Failure {
  if (error instanceof InterruptedError) {
    return { exitCode: exitCodes.interrupted, code: 'interrupted', message: 'interrupted' };
  }
  if (error instanceof UsageError) return { exitCode: exitCodes.usage, ...problemOf(error) };
  const known = translate(error);
  if (known) return known;
  if (isSystemError(error)) return diskFailure(error);
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const remedy = 'This is a defect: please report it with the command that you gave.';
  return { exitCode: exitCodes.unexpected, code: 'unexpected', message, remedy };
}

/** The parts of an error that users see, as `--json` has them. */
export function problemOf({ code, message, remedy }: Problem): Problem {
  return { code, message, ...(remedy !== undefined && { remedy }) };
}

interface SystemError extends Error {
  readonly code: string;
  readonly path?: string;
}

function isSystemError(error: unknown): error is SystemError {
  // An error from a thread has lost everything except its code.
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false;
  return 'syscall' in error || error.code in diskProblems;
}

function diskFailure({ code, path, message }: SystemError): Failure {
  const named = path === undefined ? '' : `${path}: `;
  if (code === 'ENOENT') {
    return { exitCode: exitCodes.notFound, code: 'not_found', message: `${named}there is no such file or folder` };
  }
  const [problem, remedy] = diskProblems[code] ?? [message, undefined];
  return { exitCode: exitCodes.localDisk, code: 'local_disk', message: `${named}${problem}`, remedy };
}
