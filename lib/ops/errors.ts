import { Crypt4ghError } from '../crypt4gh/index.ts';
import {
  DataOutError,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  TemporarilyUnavailableError,
  UnauthenticatedError,
} from '../errors.ts';
import { RetirementError } from '../releases/errors.ts';
import { InterruptedError } from '../terminal/interrupted.ts';
import { retirementExitCodes } from './retirement-exit-codes.ts';

/** What went wrong in the operator's tool alone; every other code comes from `lib/errors.ts`. */
export type OpsErrorCode = 'conflict' | 'too_large' | 'unusable_input' | 'verification_failed';

/** A mistake or refusal that the tool itself found. `message` says what to do about it, and holds no secret. */
export class OpsError extends Error {
  readonly code: OpsErrorCode;
  constructor(code: OpsErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
  override get name(): string {
    return 'OpsError';
  }
}

/** A wrong argument or option: one line that names it. */
export function usageError(field: string, message: string): InvalidRequestError {
  return new InvalidRequestError([{ field, message }]);
}

/** Exit codes of the tool: a script can tell what to do next. `retire-release` has finer ones beside them. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  noAccess: 4,
  unavailable: 5,
  interrupted: 130,
} as const;

/** A failure as the tool reports it: the exit code, a stable code, and one line for people. */
export interface Failure {
  readonly exitCode: number;
  readonly code: string;
  readonly message: string;
}

const noAccess = new Set([
  'AccessDenied',
  'AccessDeniedException',
  'CredentialsProviderError',
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidAccessKeyId',
  'InvalidClientTokenId',
  'SignatureDoesNotMatch',
  'TokenProviderError',
  'UnrecognizedClientException',
]);
const unreachable = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH']);

/** The failure that `error` is. Errors of the AWS SDK and of the file system are told by their names and codes. */
export function failureOf(error: unknown): Failure {
  if (error instanceof OpsError) {
    return { exitCode: exitCodes.failure, ...textOf(error) };
  }
  if (error instanceof RetirementError) return { exitCode: retirementExitCodes[error.code], ...textOf(error) };
  if (error instanceof InterruptedError) return { exitCode: exitCodes.interrupted, ...textOf(error) };
  if (error instanceof Crypt4ghError) return { exitCode: exitCodes.failure, ...textOf(error) };
  if (error instanceof DataOutError) return { exitCode: exitCodeOf(error), ...textOf(error) };
  for (const cause of causesOf(error)) {
    if (noAccess.has(cause.name)) {
      return { exitCode: exitCodes.noAccess, code: 'forbidden', message: `AWS refused the credentials: ${cause.name}` };
    }
    const code = systemCode(cause);
    if (code === 'ENOENT') return { exitCode: exitCodes.notFound, code: 'not_found', message: cause.message };
    if (code === 'EACCES' || code === 'EPERM') {
      return { exitCode: exitCodes.noAccess, code: 'forbidden', message: cause.message };
    }
    if (unreachable.has(code)) {
      const message = `no answer (${code}); is the local engine, or the network, up?`;
      return { exitCode: exitCodes.unavailable, code: 'temporarily_unavailable', message };
    }
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { exitCode: exitCodes.failure, code: 'failure', message };
}

function textOf(error: OpsError | RetirementError | InterruptedError | DataOutError | Crypt4ghError): {
  code: string;
  message: string;
} {
  return { code: error.code, message: error.message };
}

function exitCodeOf(error: DataOutError): number {
  if (error instanceof InvalidRequestError) return exitCodes.usage;
  if (error instanceof NotFoundError) return exitCodes.notFound;
  if (error instanceof ForbiddenError || error instanceof UnauthenticatedError) return exitCodes.noAccess;
  if (error instanceof TemporarilyUnavailableError) return exitCodes.unavailable;
  return exitCodes.failure;
}

/** The error and what caused it, outermost first; several addresses of one host make an AggregateError. */
function* causesOf(error: unknown): Generator<Error> {
  for (let current = error; current instanceof Error; current = current.cause) {
    yield current;
    if (current instanceof AggregateError) yield* current.errors.flatMap((each) => [...causesOf(each)]);
  }
}

function systemCode(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}
