/** What the engine sends to a function's worker process. */
export type ToWorker =
  | {
      readonly type: 'invoke';
      readonly requestId: string;
      /** JSON. */
      readonly event: string;
      /** Milliseconds since 1970 when the invocation times out. */
      readonly deadline: number;
    }
  /** The last chunk was passed on: the worker may send another one. */
  | { readonly type: 'ack' };

/** What a worker process sends to the engine. */
export type FromWorker =
  | { readonly type: 'ready'; readonly initMs: number }
  /** `exits`: the process ends itself. */
  | { readonly type: 'failed'; readonly error: FunctionError; readonly exits?: true }
  /** JSON of what the handler returned. */
  | { readonly type: 'result'; readonly payload: string }
  /** Bytes of a streamed reply. */
  | { readonly type: 'chunk'; readonly data: Uint8Array }
  | { readonly type: 'end' };

/** An error as Lambda reports it to the invoker. */
export interface FunctionError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}

/** Variables that tell a worker process about its function, beside those that Lambda sets. */
export const workerVariables = { functionArn: 'LOCAL_FUNCTION_ARN' } as const;
