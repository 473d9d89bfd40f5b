import { localDiskFull } from '../contract/connection.ts';
import { Crypt4ghError, DamagedBodyError, MalformedHeaderError, UnusableKeyError } from '../crypt4gh/index.ts';
import {
  ArchiveDamagedError,
  DataOutError,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  UnauthenticatedError,
} from '../errors.ts';
import { errorName, errorStatus, isTransient } from '../service/stores/aws-failure.ts';
import { MalformedSecretError } from '../service/stores/secrets/cached-secret.ts';
import { exitCodes } from '../terminal/exit-codes.ts';
import type { Failure } from '../terminal/failure.ts';
import { RetirementError, retirementExitCodes } from './retirement/errors.ts';
import { SecretChangedError } from './stores/json-secret.ts';

/** Codes of the operator's tool alone; every other code comes from `lib/errors.ts`. */
export type OpsErrorCode = 'conflict' | 'partial' | 'too_large' | 'unusable_input' | 'verification_failed';

/** A mistake or refusal that the tool itself found. `message` says what to do about it, and holds no secret. */
export class OpsError extends Error {
  override readonly name = 'OpsError';
  readonly code: OpsErrorCode;
  constructor(code: OpsErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}

const exitCodeOf: Readonly<Record<OpsErrorCode, number>> = {
  conflict: exitCodes.conflict,
  partial: exitCodes.partial,
  too_large: exitCodes.usage,
  unusable_input: exitCodes.usage,
  verification_failed: exitCodes.unexpected,
};

/** Names of errors by which AWS refuses credentials. */
const refused = new Set([
  'AccessDenied',
  'AccessDeniedException',
  'InvalidAccessKeyId',
  'InvalidClientTokenId',
  'SignatureDoesNotMatch',
  'UnrecognizedClientException',
]);

/** Names of errors by which AWS and its SDK ask for a new login. */
const notLoggedIn = new Set([
  'CredentialsProviderError',
  'ExpiredToken',
  'ExpiredTokenException',
  'TokenProviderError',
]);

const loginRemedy = 'Log in, for example with aws sso login, and look at AWS_PROFILE. Then run the same command again.';
const refusedRemedy = 'Look at AWS_PROFILE, at the region, and at the rights of these credentials.';
const addressRemedy = 'Look at the region (--region, AWS_REGION, AWS_PROFILE) and at the network.';

/** Codes of name resolution. A region that does not exist has no address. */
const noAddress = new Set(['EAI_AGAIN', 'ENOTFOUND']);

/** The failure of an error of the tool, the service, the format or AWS; `undefined` for any other error. */
export function opsFailure(error: unknown): Failure | undefined {
  if (error instanceof OpsError) return { exitCode: exitCodeOf[error.code], ...textOf(error) };
  if (error instanceof RetirementError) return { exitCode: retirementExitCodes[error.code], ...textOf(error) };
  if (error instanceof Crypt4ghError) return { exitCode: crypt4ghExitCode(error), ...textOf(error) };
  if (error instanceof InvalidRequestError) return { exitCode: exitCodes.usage, ...textOf(error), code: 'usage' };
  if (error instanceof SecretChangedError) {
    const remedy = 'Give the same command again.';
    return { exitCode: exitCodes.conflict, code: 'conflict', message: error.message, remedy };
  }
  if (error instanceof MalformedSecretError) {
    return { exitCode: exitCodes.usage, code: 'unusable_input', message: error.message };
  }
  if ([...causesOf(error)].some((cause) => errorName(cause) === localDiskFull)) return diskFull;
  if (error instanceof DataOutError) {
    const remedy = hasNoAddress(error) ? addressRemedy : isTransient(error) ? transientRemedy : undefined;
    return { exitCode: serviceExitCode(error), ...textOf(error), remedy };
  }
  for (const cause of causesOf(error)) {
    const name = errorName(cause);
    if (notLoggedIn.has(name)) {
      const message = `there are no valid AWS credentials: ${name}`;
      return { exitCode: exitCodes.denied, code: 'forbidden', message, remedy: loginRemedy };
    }
    if (refused.has(name)) {
      const message = `AWS refused the credentials: ${name}`;
      return { exitCode: exitCodes.denied, code: 'forbidden', message, remedy: refusedRemedy };
    }
    if (isTransient(cause)) {
      const code = 'code' in cause ? String(cause.code) : name;
      const remedy = 'Look whether the local engine or the network is up, then run the same command again.';
      return {
        exitCode: exitCodes.unavailable,
        code: 'temporarily_unavailable',
        message: `no answer (${code})`,
        remedy,
      };
    }
    if (errorStatus(cause) !== undefined) {
      return { exitCode: exitCodes.unexpected, code: 'failure', message: `AWS answered ${name}: ${cause.message}` };
    }
  }
  return undefined;
}

const transientRemedy =
  'Wait a minute, then run the same command again. If that does not help, look at the network, and at the state of the service.';

const diskFull: Failure = {
  exitCode: exitCodes.localDisk,
  code: 'local_disk',
  message: 'the disk of the local engine is full',
  remedy: 'Make room where the engine keeps its state, then run the same command again.',
};

function textOf({ code, message }: OpsError | RetirementError | DataOutError | Crypt4ghError) {
  return { code, message };
}

function crypt4ghExitCode(error: Crypt4ghError): number {
  if (error instanceof MalformedHeaderError || error instanceof DamagedBodyError) return exitCodes.damaged;
  return error instanceof UnusableKeyError ? exitCodes.usage : exitCodes.denied;
}

function serviceExitCode(error: DataOutError): number {
  if (error instanceof NotFoundError) return exitCodes.notFound;
  if (error instanceof ForbiddenError || error instanceof UnauthenticatedError) return exitCodes.denied;
  if (error instanceof ArchiveDamagedError) return exitCodes.damaged;
  return isTransient(error) ? exitCodes.unavailable : exitCodes.unexpected;
}

function hasNoAddress(error: unknown): boolean {
  return [...causesOf(error)].some((cause) => 'code' in cause && noAddress.has(String(cause.code)));
}

/** The error and what caused it, outermost first; several addresses of one host make an AggregateError. */
function* causesOf(error: unknown): Generator<Error> {
  for (let current = error; current instanceof Error; current = current.cause) {
    yield current;
    if (current instanceof AggregateError) yield* current.errors.flatMap((each) => [...causesOf(each)]);
  }
}
