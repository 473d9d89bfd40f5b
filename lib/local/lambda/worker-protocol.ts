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
