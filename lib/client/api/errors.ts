/** One stable code for each thing that the user can do next. `lib/client/cli` maps each code to an exit code. */
export type ClientErrorCode =
  /** Correct the command, the settings or the request. */
  | 'usage'
  /** Present other credentials. */
  | 'unauthenticated'
  | 'forbidden'
  /** Check the name; this user has nothing of that name. */
  | 'not_found'
  /** Run it again; some files are whole, others are not. */
  | 'partial'
  /** Make room, or choose another folder or name. */
  | 'local_disk'
  /** Try again later; the network or the service fails. */
  | 'unavailable'
  /** Ask for the file again; its bytes are not what was encrypted. */
  | 'damaged'
  /** Do not rely on the files; they, or the receipts, are not what the service has signed. */
  | 'not_verified'
  /** Wait longer, or ask what holds the work up. */
  | 'timeout'
  /** Continue with the same command; the user stopped it. */
  | 'interrupted'
  /** Check the address, or tell the operator; no such service answers like this. */
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

/** What to do when another service seems to answer. */
export const checkAddress =
  'Check the address, to its end: it looks like https://data-out.example.org/v1/. The server there does not behave like a ' +
  'data-out service.';

/** There was no answer, or one that says "later". The same call may succeed later. */
export class UnavailableError extends ClientError {
  /** Milliseconds that the other side asked to wait. */
  readonly retryAfterMs: number | undefined;
  /** Whether waiting can help. It cannot if a certificate is not trusted, for example. */
  readonly retryable: boolean;
  /** Whether the other side might have acted on the request, so that to send it again would do it twice. */
  readonly mayBeDone: boolean;
  constructor(
    message: string,
    options: ClientErrorOptions & Partial<Pick<UnavailableError, 'retryAfterMs' | 'retryable' | 'mayBeDone'>> = {},
  ) {
    super('unavailable', message, options);
    this.retryAfterMs = options.retryAfterMs;
    this.retryable = options.retryable ?? true;
    this.mayBeDone = options.mayBeDone ?? false;
  }
}

/** The service refused the call, with a problem document (RFC 9457) or with a status alone. */
export class ServiceError extends ClientError {
  readonly status: number;
  constructor(code: ClientErrorCode, message: string, options: ClientErrorOptions & { readonly status: number }) {
    super(code, message, options);
    this.status = options.status;
  }
}

/** The user stopped the work by a signal. */
export function interrupted(cause?: unknown): ClientError {
  return new ClientError('interrupted', 'interrupted', { remedy: 'Run the same command again: it resumes.', cause });
}

/** @throws ClientError `interrupted` if the signal is aborted. */
export function throwIfInterrupted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw interrupted();
}
