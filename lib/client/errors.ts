/**
 * What the user of the client can do next, as one stable code each. `lib/cli` maps a code to an exit code once.
 *
 * - `usage`: correct the command, the settings or the request
 * - `unauthenticated`, `forbidden`: present other credentials; nothing with these
 * - `not_found`: there is nothing of that name for this user
 * - `partial`: some files are whole, others are not: run it again
 * - `local_disk`: make room, or choose another folder or name
 * - `unavailable`: the network or the service fails; the same may work later
 * - `damaged`: the bytes are not what was encrypted: ask for the file again
 * - `interrupted`: the user stopped it
 * - `protocol`: the other side answers what no such service answers: tell the operator
 */
export type ClientErrorCode =
  | 'usage'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'partial'
  | 'local_disk'
  | 'unavailable'
  | 'damaged'
  | 'interrupted'
  | 'protocol';

export interface ClientErrorOptions {
  /** A sentence that says what to do. */
  readonly remedy?: string | undefined;
  readonly cause?: unknown;
}

/** Every error that the client raises on purpose. Neither `message` nor `remedy` holds a secret or a presigned URL. */
export class ClientError extends Error {
  readonly code: ClientErrorCode;
  /** A sentence that says what to do. */
  readonly remedy: string | undefined;
  constructor(code: ClientErrorCode, message: string, options: ClientErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.remedy = options.remedy;
  }
  override get name(): string {
    return this.constructor.name;
  }
}

/** No answer, or one that says "later". Whoever gets it may repeat the same call. */
export class UnavailableError extends ClientError {
  /** Milliseconds that the other side asked to wait. */
  readonly retryAfterMs: number | undefined;
  /** Whether waiting can help; it cannot with a certificate that nobody trusts. */
  readonly retryable: boolean;
  constructor(
    message: string,
    options: ClientErrorOptions & { readonly retryAfterMs?: number | undefined; readonly retryable?: boolean } = {},
  ) {
    super('unavailable', message, options);
    this.retryAfterMs = options.retryAfterMs;
    this.retryable = options.retryable ?? true;
  }
}

/** The service refused the call with a problem document (RFC 9457), or with a bare status. */
export class ServiceError extends ClientError {
  readonly status: number;
  /** The service's own stable code, such as `invalid_request`; `undefined` when the reply was no problem document. */
  readonly problemCode: string | undefined;
  /** Names the call in the operator's logs. */
  readonly requestId: string | undefined;
  constructor(
    code: ClientErrorCode,
    message: string,
    options: ClientErrorOptions & {
      readonly status: number;
      readonly problemCode?: string | undefined;
      readonly requestId?: string | undefined;
    },
  ) {
    super(code, message, options);
    this.status = options.status;
    this.problemCode = options.problemCode;
    this.requestId = options.requestId;
  }
}

/** Segments of a container do not authenticate, also when fetched again. All others are there. */
export class DamagedFileError extends ClientError {
  /** Indices from 0, ascending. */
  readonly segments: readonly number[];
  constructor(fileName: string, segments: readonly number[]) {
    const named = segments.slice(0, 5).join(', ') + (segments.length > 5 ? ', …' : '');
    const what = segments.length === 1 ? `segment ${named} does` : `${segments.length} segments (${named}) do`;
    super('damaged', `${fileName}: ${what} not authenticate, also when fetched again`, {
      remedy: 'Run the command again: it fetches only what is missing. If that fails too, ask for a new export.',
    });
    this.segments = segments;
  }
}

/** The bytes of a whole file are not those of the catalogue. Nothing of it can be used. */
export class ChecksumError extends ClientError {
  /** @param sums SHA-256 in hex: of what came, and as the service lists it */
  constructor(fileName: string, sums: { readonly found: string; readonly listed: string }) {
    super('damaged', `${fileName}: what came has the SHA-256 ${sums.found}, and the service lists ${sums.listed}`, {
      remedy: 'Do not use what came. Run the same command again; if the checksum is wrong again, tell the operator.',
    });
  }
}

/** The user's signal. */
export function interrupted(cause?: unknown): ClientError {
  return new ClientError('interrupted', 'interrupted', {
    remedy: 'Run the same command again to go on where it stopped.',
    cause,
  });
}

/** @throws ClientError `interrupted` when the signal has been given. */
export function throwIfInterrupted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw interrupted();
}
