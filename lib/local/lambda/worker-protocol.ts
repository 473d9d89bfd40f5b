/** What the engine sends to a function's worker process. */
export interface ToWorker {
  readonly type: 'invoke';
  readonly requestId: string;
  /** JSON. */
  readonly event: string;
  /** Milliseconds since 1970 when the invocation times out. */
  readonly deadline: number;
}

/** The file descriptor of the pipe on which a worker process sends the bytes of streamed replies. */
export const replyDescriptor = 4;

/** What a worker process sends to the engine. */
export type FromWorker =
  | { readonly type: 'ready'; readonly initMs: number }
  /** `exits`: the process ends itself. */
  | { readonly type: 'failed'; readonly error: FunctionError; readonly exits?: true; readonly bytes?: number }
  /** JSON of what the handler returned. */
  | { readonly type: 'result'; readonly payload: string }
  /** A streamed reply is over. `bytes`: how many bytes of it are on the pipe. */
  | { readonly type: 'end'; readonly bytes: number };

/** An error as Lambda reports it to the invoker. */
export interface FunctionError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}

/** Variables that tell a worker process about its function, beside those that Lambda sets. */
export const workerVariables = { functionArn: 'LOCAL_FUNCTION_ARN' } as const;

/**
 * The tracing header of an invocation. Lambda puts it into `_X_AMZN_TRACE_ID`, and the SDK sends it with every call.
 * Its root is made of the request id here, so that a call can be traced to the invocation that makes it.
 *
 * @param requestId UUID of the invocation
 */
export function traceHeader(requestId: string): string {
  const digits = requestId.replaceAll('-', '');
  return `Root=1-${digits.slice(0, 8)}-${digits.slice(8)};Sampled=0`;
}

/** Request id in a tracing header. `undefined`: there is no header, or it is of another origin. */
export function invocationOf(header: string | string[] | undefined): string | undefined {
  const [, first, rest = ''] = /^Root=1-([0-9a-f]{8})-([0-9a-f]{24});/.exec(String(header)) ?? [];
  return first && [first, rest.slice(0, 4), rest.slice(4, 8), rest.slice(8, 12), rest.slice(12)].join('-');
}
