import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { compileCache } from '../compile-cache.ts';
import type { FunctionDefinition } from './function-definition.ts';
import { type FromWorker, type FunctionError, replyDescriptor, type ToWorker } from './worker-protocol.ts';

/** The outcome of one invocation. */
export type Outcome =
  | { readonly type: 'result'; readonly payload: string }
  | { readonly type: 'end' }
  | { readonly type: 'failed'; readonly error: FunctionError };

/** Takes the bytes of a streamed reply; the promise is back-pressure. */
export type OnChunk = (data: Uint8Array) => Promise<void>;

/** Lambda gives a function ten seconds to initialise. */
const initLimitMs = 10_000;

/** One execution environment of a function: a process that takes one invocation at a time. */
export class Worker {
  readonly #child: ChildProcess;
  readonly #ready: Promise<Outcome | undefined>;
  #ending = false;
  /** Milliseconds that loading the bundle took. */
  initMs = 0;
  #settle: (outcome: Outcome) => void = () => {};
  #onChunk: OnChunk = async () => {};
  readonly #replies: Socket;
  /** Bytes of the reply that have been passed on. At `#ended.bytes` of them the invocation is over. */
  #passed = 0;
  #ended: { readonly bytes: number; readonly outcome: Outcome } | undefined;

  /** @param inspectPort on which a debugger can attach. The initialisation then has no time limit. @default - none */
  constructor(
    { environment, memoryMb }: Pick<FunctionDefinition, 'environment' | 'memoryMb'>,
    onLine: (line: string) => void,
    inspectPort: number | undefined,
  ) {
    this.#child = fork(fileURLToPath(new URL('./worker-process.ts', import.meta.url)), [], {
      env: { ...environment, ...compileCache },
      // Lambda's limit is on the whole process; the rest is for what V8 does not count as old space.
      execArgv: [
        `--max-old-space-size=${Math.floor(memoryMb * 0.9)}`,
        '--disable-warning=ExperimentalWarning',
        ...(inspectPort === undefined ? [] : [`--inspect=127.0.0.1:${inspectPort}`]),
      ],
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe'],
    });
    for (const output of [this.#child.stdout, this.#child.stderr]) {
      if (output) createInterface({ input: output }).on('line', onLine);
    }
    const replies = this.#child.stdio[replyDescriptor];
    if (!(replies instanceof Socket)) throw new TypeError('expected a pipe for streamed replies');
    this.#replies = replies;
    // A killed process breaks the pipe. Its exit is what gets reported.
    replies.on('error', () => {});
    replies.on('data', (chunk: Uint8Array) => this.#passOn(chunk));
    this.#ready = this.#initialise(inspectPort === undefined ? initLimitMs : undefined);
  }

  /** Whether it can take another invocation. */
  get alive(): boolean {
    return this.#child.connected && !this.#ending;
  }

  /** Run one invocation, after the initialisation when this is the first. Kills the process at the time limit. */
  async invoke(requestId: string, event: string, timeoutMs: number, onChunk: OnChunk): Promise<Outcome> {
    const failed = await this.#ready;
    if (failed) return failed;
    this.#onChunk = onChunk;
    this.#passed = 0;
    this.#ended = undefined;
    const outcome = this.#next();
    this.#send({ type: 'invoke', requestId, event, deadline: Date.now() + timeoutMs });
    const timer = setTimeout(() => {
      this.#settle(timedOut(`Task timed out after ${(timeoutMs / 1000).toFixed(2)} seconds`));
      this.kill();
    }, timeoutMs);
    const settled = await outcome;
    clearTimeout(timer);
    return settled;
  }

  /** End the process at once, also in the middle of an invocation. */
  kill(): void {
    this.#ending = true;
    this.#child.kill('SIGKILL');
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.kill();
    await exited;
  }

  async #initialise(limitMs: number | undefined): Promise<Outcome | undefined> {
    const failed = this.#next();
    const { promise: ready, resolve } = Promise.withResolvers<undefined>();
    this.#child.on('error', () => this.#settle(exited('could not be started')));
    this.#child.on('exit', (code, signal) => this.#settle(exited(signal ? `signal: ${signal}` : `exit code: ${code}`)));
    this.#child.on('message', (message: FromWorker) => {
      if (message.type === 'ready') {
        this.initMs = message.initMs;
        resolve(undefined);
      } else {
        if (message.type === 'failed' && message.exits) this.#ending = true;
        this.#ended = { bytes: 'bytes' in message ? (message.bytes ?? 0) : 0, outcome: message };
        this.#settleWhenPassed();
      }
    });
    const expire = () => {
      this.#settle(timedOut('Init timed out'));
      this.kill();
    };
    const timer = limitMs === undefined ? undefined : setTimeout(expire, limitMs);
    const outcome = await Promise.race([ready, failed]);
    clearTimeout(timer);
    if (outcome) this.kill();
    return outcome;
  }

  /** The next chunk is read when this one has been taken, which may have given its memory back. */
  #passOn(chunk: Uint8Array): void {
    const { length } = chunk;
    this.#replies.pause();
    void this.#onChunk(chunk).finally(() => {
      this.#passed += length;
      this.#replies.resume();
      this.#settleWhenPassed();
    });
  }

  /** The message that a reply is over may overtake its last bytes. */
  #settleWhenPassed(): void {
    if (this.#ended && this.#passed >= this.#ended.bytes) this.#settle(this.#ended.outcome);
  }

  #next(): Promise<Outcome> {
    return new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  #send(message: ToWorker): void {
    // A process that died meanwhile is reported by its exit.
    if (this.#child.connected) this.#child.send(message, () => {});
  }
}

function timedOut(errorMessage: string): Outcome {
  return { type: 'failed', error: { errorType: 'Sandbox.Timedout', errorMessage } };
}

function exited(how: string): Outcome {
  return {
    type: 'failed',
    error: { errorType: 'Runtime.ExitError', errorMessage: `RequestId: Error: Runtime exited with error: ${how}` },
  };
}
