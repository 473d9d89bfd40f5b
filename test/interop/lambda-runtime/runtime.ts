import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { environment } from '../../../lib/contract/environment.ts';

/** A reply as the Runtime API receives it from the runtime interface client. */
export interface ReceivedReply {
  /** What precedes the eight NUL bytes. */
  readonly metadata: { readonly statusCode: number; readonly headers: Readonly<Record<string, string>> };
  readonly bytes: number;
  /** `Lambda-Runtime-Function-Error-Type` of the trailers: by this Lambda knows that the reply is broken. */
  readonly errorType: string | undefined;
}

interface Invocation {
  readonly event: unknown;
  readonly remainingMs: number;
  /** Takes nothing of the reply for so long. */
  readonly pauseMs: number;
  readonly received: (reply: ReceivedReply) => void;
}

/** Lambda's runtime interface client in its own process, between a function and a stand-in of the Runtime API. */
export class Runtime {
  readonly #server: Server;
  readonly #process: ChildProcess;
  readonly #waiting: ServerResponse[] = [];
  readonly #invocations: Invocation[] = [];
  #current: Invocation | undefined;
  /** Exit code, when the process has ended. */
  readonly exited: Promise<number | null>;
  output = '';

  private constructor(server: Server, child: ChildProcess) {
    this.#server = server;
    this.#process = child;
    this.exited = once(child, 'exit').then(([code]) => code as number | null);
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (this.output += String(data)));
    server.on('request', (request, response) => void this.#answer(request, response));
  }

  /**
   * @param client folder of the unpacked package `aws-lambda-ric`
   * @param task folder with `index.mjs`, the function's bundle
   */
  static async start(client: { readonly folder: string; readonly entry: string }, task: string, handler: string) {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const preload = join(import.meta.dirname, 'native-client.cjs');
    const child = spawn(process.execPath, ['--require', preload, join(client.folder, client.entry), handler], {
      cwd: task,
      env: {
        PATH: process.env.PATH,
        AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${(server.address() as AddressInfo).port}`,
        _HANDLER: handler,
        LAMBDA_TASK_ROOT: task,
        AWS_LAMBDA_FUNCTION_NAME: 'function',
        AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '512',
        AWS_LAMBDA_LOG_GROUP_NAME: 'group',
        AWS_LAMBDA_LOG_STREAM_NAME: 'stream',
        POWERTOOLS_SERVICE_NAME: 'test',
        [environment.stackName]: 'test',
      },
    });
    return new Runtime(server, child);
  }

  /** One invocation; `path` says what the function is to do. Waits for the whole of its reply. */
  invoke(path: string, options: { remainingMs?: number; pauseMs?: number } = {}): Promise<ReceivedReply> {
    const { remainingMs = 29_000, pauseMs = 0 } = options;
    const event = { httpMethod: 'GET', path, resource: '/x', headers: {}, requestContext: { requestId: path } };
    const reply = new Promise<ReceivedReply>((received) => {
      this.#invocations.push({ event, remainingMs, pauseMs, received });
      this.#hand();
    });
    const ended = this.exited.then((code) => {
      throw new Error(`the process ended with ${code}: ${this.output}`);
    });
    return Promise.race([reply, ended]);
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGKILL');
    this.#server.closeAllConnections();
    this.#server.close();
    await this.exited;
  }

  #hand(): void {
    if (this.#waiting.length === 0 || this.#invocations.length === 0) return;
    const response = this.#waiting.shift();
    this.#current = this.#invocations.shift();
    response
      ?.writeHead(200, {
        'Lambda-Runtime-Aws-Request-Id': 'id',
        'Lambda-Runtime-Deadline-Ms': String(Date.now() + (this.#current?.remainingMs ?? 0)),
        'Lambda-Runtime-Invoked-Function-Arn': 'arn:aws:lambda:eu-north-1:111122223333:function:function',
      })
      .end(JSON.stringify(this.#current?.event));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.endsWith('/next')) {
      this.#waiting.push(response);
      this.#hand();
      return;
    }
    const invocation = this.#current;
    await delay(invocation?.pauseMs);
    const chunks: Uint8Array[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Uint8Array);
    } catch {
      // Destroyed by the function: its process is about to end.
      return;
    }
    response.writeHead(202).end();
    const received = Buffer.concat(chunks);
    const end = received.indexOf(Buffer.alloc(8));
    invocation?.received({
      metadata: JSON.parse(received.subarray(0, end).toString()) as ReceivedReply['metadata'],
      bytes: received.length - end - 8,
      errorType: request.trailers['lambda-runtime-function-error-type'] as string | undefined,
    });
  }
}
