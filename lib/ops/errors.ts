import { localDiskFull } from '../contract/connection.ts';
import { Crypt4ghError, DamagedBodyError, MalformedHeaderError, UnusableKeyError } from '../crypt4gh/index.ts';
import { type DataOutError, isDamage, isError } from '../errors.ts';
import { errorName, errorStatus, isTransient } from '../service/stores/aws-failure.ts';
import { MalformedSecretError } from '../service/stores/secrets.ts';
import { exitCodes } from '../terminal/exit-codes.ts';
import type { Failure } from '../terminal/failure.ts';
import { CatalogueConflictError } from './catalogue/writer.ts';
import { SecretChangedError } from './stores/json-secret.ts';

/**
 * Codes of the operator's tool alone, by the class of exit codes, which says what an operator does next. Every other code comes
 * from `lib/errors.ts`. `docs/retire-release.md` has those of a retirement.
 */
const codesByExit = {
  usage: ['too_large', 'unusable_input', 'replacement_equal', 'tag_mismatch', 'not_confirmed'],
  denied: ['token_refused', 'scope_missing', 'access_denied'],
  notFound: [
    ...(['package_not_found', 'repository_not_found', 'version_not_found', 'release_not_found'] as const),
    'replacement_missing',
  ],
  partial: ['partial', 'not_marked', 'not_proven'],
  unavailable: ['rate_limited', 'server_error', 'network_failure'],
  unexpected: ['verification_failed'],
  conflict: [
    ...(['refused', 'ambiguous_version', 'ambiguous_release', 'other_tags', 'too_many_downloads'] as const),
    ...(['conflict', 'last_version', 'replacement_broken', 'tag_protected', 'changed_meanwhile', 'moved'] as const),
    'unexpected_answer',
  ],
} as const;
type ExitClass = keyof typeof codesByExit;
export type OpsErrorCode = (typeof codesByExit)[ExitClass][number];

/** A mistake or refusal that the tool itself found. `message` says what to do about it, and holds no secret. */
export class OpsError extends Error {
  override readonly name = 'OpsError';
  readonly code: OpsErrorCode;
  constructor(code: OpsErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }

  get exitCode(): number {
    const classes = Object.keys(codesByExit) as ExitClass[];
    const found = classes.find((each) => codesByExit[each].some((code) => code === this.code));
    return exitCodes[found ?? 'unexpected'];
  }
}

/** Whether an error has one of these codes. */
export function hasCode(error: unknown, ...codes: readonly OpsErrorCode[]): error is OpsError {
  return error instanceof OpsError && codes.includes(error.code);
}

/** Names of errors by which AWS refuses credentials. */
const refused =
  /^(AccessDenied(Exception)?|InvalidAccessKeyId|InvalidClientTokenId|SignatureDoesNotMatch|UnrecognizedClientException)$/;

/** Names of errors by which AWS and its SDK ask for a new login. */
const notLoggedIn = /^(CredentialsProviderError|ExpiredToken(Exception)?|TokenProviderError)$/;

const remedies = {
  login: 'Log in, for example with aws sso login, and check AWS_PROFILE. Then repeat the command.',
  refused: 'Check AWS_PROFILE, the region, and the rights of these credentials.',
  address: 'Check the region (--region, AWS_REGION, AWS_PROFILE) and the network.',
  noAnswer: 'Check whether the local engine or the network is up, then repeat the command.',
  transient:
    'Wait a minute, then repeat the command. If that does not help, check the network and the state of the service.',
  diskFull: 'Make room where the engine keeps its state, then repeat the command.',
} as const;

/** Codes of name resolution. A region that does not exist has no address. */
const noAddress = ['EAI_AGAIN', 'ENOTFOUND'];

/** The failure of an error of the tool, the service, the format or AWS; `undefined` for any other error. */
export function opsFailure(error: unknown): Failure | undefined {
  const causes = [...causesOf(error)];
  const failure = (exitCode: number, code: string, message: string, remedy?: string): Failure => {
    return { exitCode, code, message, remedy };
  };
  if (error instanceof OpsError) return failure(error.exitCode, error.code, error.message);
  if (error instanceof CatalogueConflictError) return failure(exitCodes.conflict, error.code, error.message);
  if (error instanceof Crypt4ghError) return failure(crypt4ghExitCode(error), error.code, error.message);
  if (isError(error, 'invalid_request')) return failure(exitCodes.usage, 'usage', error.message);
  if (error instanceof SecretChangedError) {
    return failure(exitCodes.conflict, 'conflict', error.message, 'Repeat the command.');
  }
  if (error instanceof MalformedSecretError) return failure(exitCodes.usage, 'unusable_input', error.message);
  if (causes.some((cause) => errorName(cause) === localDiskFull)) {
    return failure(exitCodes.localDisk, 'local_disk', 'the disk of the local engine is full', remedies.diskFull);
  }
  if (isError(error)) {
    const hasNoAddress = causes.some((cause) => 'code' in cause && noAddress.includes(String(cause.code)));
    const remedy = hasNoAddress ? remedies.address : isTransient(error) ? remedies.transient : undefined;
    return failure(serviceExitCode(error), error.code, error.message, remedy);
  }
  for (const cause of causes) {
    const name = errorName(cause);
    if (notLoggedIn.test(name)) {
      return failure(exitCodes.denied, 'forbidden', `there are no valid AWS credentials: ${name}`, remedies.login);
    }
    if (refused.test(name)) {
      return failure(exitCodes.denied, 'forbidden', `AWS refused the credentials: ${name}`, remedies.refused);
    }
    if (isTransient(cause)) {
      const message = `no answer (${'code' in cause ? cause.code : name})`;
      return failure(exitCodes.unavailable, 'temporarily_unavailable', message, remedies.noAnswer);
    }
    if (errorStatus(cause) !== undefined) {
      return failure(exitCodes.unexpected, 'failure', `AWS answered ${name}: ${cause.message}`);
    }
  }
  return undefined;
}

function crypt4ghExitCode(error: Crypt4ghError): number {
  if (error instanceof MalformedHeaderError || error instanceof DamagedBodyError) return exitCodes.damaged;
  return error instanceof UnusableKeyError ? exitCodes.usage : exitCodes.denied;
}

function serviceExitCode(error: DataOutError): number {
  if (isError(error, 'not_found')) return exitCodes.notFound;
  if (isError(error, 'forbidden', 'unauthenticated')) return exitCodes.denied;
  if (isDamage(error)) return exitCodes.damaged;
  return isTransient(error) ? exitCodes.unavailable : exitCodes.unexpected;
}

/** The error and what caused it, outermost first; several addresses of one host make an AggregateError. */
function* causesOf(error: unknown): Generator<Error> {
  for (let current = error; current instanceof Error; current = current.cause) {
    yield current;
    if (current instanceof AggregateError) yield* current.errors.flatMap((each) => [...causesOf(each)]);
  }
}
