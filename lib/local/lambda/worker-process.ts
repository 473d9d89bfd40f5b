import { flushCompileCache } from 'node:module';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { HttpResponseStream, isStreaming, ResponseStream, streamifyResponse } from './response-stream.ts';
import {
  type FromWorker,
  type FunctionError,
  replyDescriptor,
  type ToWorker,
  traceHeader,
  workerVariables,
} from './worker-protocol.ts';

/**
 * Entry point of the process in which one function runs, as Lambda's Node.js runtime does it: load the bundle once,
 * then one invocation after another. A process and not a thread: environment, memory limit, exit code and death are the
 * function's own.
 */
type Handler = (event: unknown, ...rest: unknown[]) => Promise<unknown>;

const env = process.env as Readonly<Record<string, string>>;
const functionArn = env[workerVariables.functionArn];
delete process.env[workerVariables.functionArn];
// Node.js has read it. It is the engine's and not the function's.
delete process.env.NODE_COMPILE_CACHE;

const post = (message: FromWorker) => process.send?.(message);
/** The bytes of replies have their own pipe, because messages copy every byte several times. */
const replies = new Socket({ fd: replyDescriptor, readable: false, writable: true });
let invoke: (message: ToWorker) => Promise<void> = async () => {};
/** Bytes of the streamed reply so far. */
let bytes = 0;

Object.assign(globalThis, { awslambda: { streamifyResponse, HttpResponseStream } });
// A signal at the terminal reaches the whole group. The engine decides the order in which things stop.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
process.on('disconnect', () => process.exit(0));
process.on('message', (message: ToWorker) => void invoke(message));
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    const described = describe(error);
    logError(described);
    process.send?.({ type: 'failed', error: described, exits: true, bytes } satisfies FromWorker, () =>
      process.exit(1),
    );
  });
}

const started = performance.now();
const handler = await loadHandler();
invoke = async ({ requestId, event, deadline }) => {
  const context = contextOf(requestId, deadline);
  process.env._X_AMZN_TRACE_ID = traceHeader(requestId);
  bytes = 0;
  let stream: ResponseStream | undefined;
  try {
    if (isStreaming(handler)) {
      stream = new ResponseStream(
        (data) =>
          new Promise<void>((resolve, reject) => {
            bytes += data.length;
            replies.write(data, (error) => (error ? reject(error) : resolve()));
          }),
      );
      await Promise.all([handler(JSON.parse(event), stream, context), stream.completed]);
      post({ type: 'end', bytes });
    } else {
      post({ type: 'result', payload: JSON.stringify((await handler(JSON.parse(event), context)) ?? null) });
    }
  } catch (error) {
    const described = describe(error);
    logError(described, requestId);
    // Reported at once, so that no other invocation comes before the process ends.
    const exits = stream?.destroyed && !stream.writableFinished ? ({ exits: true } as const) : {};
    post({ type: 'failed', error: described, bytes, ...exits });
  }
};
post({ type: 'ready', initMs: performance.now() - started });
// At its end it would be too late: most of these processes are killed.
flushCompileCache();

async function loadHandler(): Promise<Handler> {
  const [file = '', name = ''] = (env._HANDLER ?? '').split(/\.(?=[^.]+$)/);
  const path = join(env.LAMBDA_TASK_ROOT ?? '', `${file}.mjs`);
  const loaded = (await import(pathToFileURL(path).href)) as Readonly<Record<string, Handler | undefined>>;
  if (loaded[name]) return loaded[name];
  throw Object.assign(new Error(`${file}.${name} is undefined or not exported`), { name: 'Runtime.HandlerNotFound' });
}

function contextOf(requestId: string, deadline: number) {
  return {
    functionName: env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: '$LATEST',
    invokedFunctionArn: functionArn,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    awsRequestId: requestId,
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  };
}

function describe(error: unknown): FunctionError {
  if (!(error instanceof Error)) return { errorType: 'string', errorMessage: String(error), trace: [] };
  return { errorType: error.name, errorMessage: error.message, trace: (error.stack ?? '').split('\n') };
}

/** The line that Lambda writes for an error that leaves the handler. */
function logError(error: FunctionError, requestId?: string): void {
  const { errorType, errorMessage, trace } = error;
  const message = { errorType, errorMessage, stackTrace: trace };
  const line = { timestamp: new Date().toISOString(), level: 'ERROR', requestId, message };
  process.stderr.write(`${JSON.stringify(line)}\n`);
}
