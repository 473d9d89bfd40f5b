import { randomUUID } from 'node:crypto';
import { EngineError } from '../errors.ts';
import { freePort } from '../http.ts';
import type { Deployment } from '../template/deployment.ts';
import { text } from '../template/template.ts';
import { attachSourceMap, type FunctionDefinition } from './function-definition.ts';
import { type OnChunk, type Outcome, Worker } from './worker.ts';
import type { FunctionError } from './worker-protocol.ts';

/** Lambda's limit for a synchronous request or a buffered reply, in bytes. */
const payloadLimit = 6 * 1024 * 1024;
/** Lambda's limit for a streamed reply, in bytes. */
const streamLimit = 200 * 1024 * 1024;
/** Execution environments that one function may have on one machine. More invocations than that wait. */
export const workersPerFunction = 4;

/** Result of a buffered invocation. `durationMs` counts without waiting and initialisation. */
export type InvocationResult =
  | { readonly ok: true; readonly payload: unknown; readonly durationMs: number }
  | { readonly ok: false; readonly error: FunctionError };

/** Lambda refused a request because of its size. */
export class RequestTooLargeException extends Error {
  override readonly name = 'RequestTooLargeException';
  override readonly message = 'the request payload is larger than 6 MB';
}

/** An invocation under way. */
export interface Invocation {
  /** JSON. */
  readonly event: string;
  /** End its execution environment at once, as if the machine under it failed. */
  kill(): void;
}

/** Time limit of a function that a person looks at step by step. */
const unlimitedSeconds = 24 * 60 * 60;

/** Receives each line that a function writes. */
export type OnLog = (functionName: string, line: string) => void;

/** The functions of the template, each in its own processes. */
export class Functions {
  readonly #pools: Map<string, Pool>;

  constructor(
    definitions: readonly FunctionDefinition[],
    onLog: OnLog,
    inspected?: Awaited<ReturnType<typeof inspectedFunction>>,
  ) {
    this.#pools = new Map(
      definitions.map((definition) => {
        const inspectPort = definition.name === inspected?.name ? inspected.port : undefined;
        return [definition.arn, new Pool(definition, onLog, inspectPort)];
      }),
    );
  }

  /** Short names, for example `stage-file`. */
  get names(): readonly string[] {
    return [...this.#pools.values()].map(({ definition }) => definition.name);
  }

  /** @param name short name or ARN, also that of a version. @throws RangeError when there is no such function. */
  definition(name: string): FunctionDefinition {
    return this.#pool(name).definition;
  }

  /** Invoke and wait for the whole reply. @param name short name or ARN. */
  async invoke(name: string, event: unknown): Promise<InvocationResult> {
    const payload = JSON.stringify(event);
    if (Buffer.byteLength(payload) > payloadLimit) {
      const { name: errorType, message } = new RequestTooLargeException();
      return failure(errorType, message);
    }
    const chunks: Uint8Array[] = [];
    const { outcome, durationMs } = await this.#pool(name).run(payload, async (data) => void chunks.push(data));
    if (outcome.type === 'failed') return { ok: false, error: outcome.error };
    const text = outcome.type === 'result' ? outcome.payload : Buffer.concat(chunks).toString();
    if (Buffer.byteLength(text) > payloadLimit) {
      return failure(
        'Function.ResponseSizeTooLarge',
        'Response payload size exceeded maximum allowed payload size (6291556 bytes).',
      );
    }
    return { ok: true, payload: outcome.type === 'result' ? (JSON.parse(text) as unknown) : text, durationMs };
  }

  /**
   * Invoke with a streamed reply, chunk by chunk. If the reader leaves, the invocation continues and the rest of the reply is dropped.
   *
   * @throws RequestTooLargeException for more than 6 MB; Error when the function fails or sends more than 200 MB
   */
  async *invokeStreaming(name: string, event: unknown): AsyncGenerator<Uint8Array, void, void> {
    const payload = JSON.stringify(event);
    if (Buffer.byteLength(payload) > payloadLimit) throw new RequestTooLargeException();
    const arrived: { readonly data: Uint8Array; readonly taken: () => void }[] = [];
    let wake = () => {};
    let outcome: Outcome | undefined;
    let reading = true;
    const onChunk: OnChunk = async (data) => {
      if (!reading) return;
      await new Promise<void>((taken) => {
        arrived.push({ data, taken });
        wake();
      });
    };
    void this.#pool(name)
      .run(payload, onChunk)
      .then((finished) => {
        outcome = finished.outcome;
        wake();
      });
    let sent = 0;
    try {
      while (!outcome || arrived.length > 0) {
        // It stays in the list while it is read. A reader that leaves then does not keep the function waiting.
        const [chunk] = arrived;
        if (chunk) {
          sent += chunk.data.byteLength;
          if (sent > streamLimit) throw new Error('Function.ResponseSizeTooLarge');
          yield chunk.data;
          arrived.shift();
          chunk.taken();
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      reading = false;
      for (const { taken } of arrived) taken();
    }
    if (outcome.type === 'failed') throw new Error(outcome.error.errorType);
    if (outcome.type === 'result') yield Buffer.from(outcome.payload);
  }

  /** @param requestId as Lambda gives it to the handler. @returns `undefined` when it is over or unknown. */
  invocation(requestId: string): Invocation | undefined {
    for (const pool of this.#pools.values()) {
      const found = pool.running.get(requestId);
      if (found) return found;
    }
    return undefined;
  }

  /** End the idle execution environments, as Lambda may at any time. The next invocation starts cold. */
  async recycle(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.recycle()));
  }

  /** Time limit of the invocations that begin from now on, over that of the template. */
  limitTime(name: string, timeoutSeconds: number): void {
    this.#pool(name).timeoutSeconds = timeoutSeconds;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.stop()));
  }

  #pool(name: string): Pool {
    const byArn = this.#pools.get(name.replace(/(:function:[^:]+):[^:]+$/, '$1'));
    const found = byArn ?? [...this.#pools.values()].find(({ definition }) => definition.name === name);
    if (!found) throw new RangeError(`there is no function ${name}`);
    return found;
  }
}

/** The execution environments of one function. */
class Pool {
  readonly definition: FunctionDefinition;
  readonly running = new Map<string, Invocation>();
  timeoutSeconds: number;
  readonly #onLine: (line: string) => void;
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();
  readonly #waiting: ((worker: Worker) => void)[] = [];
  readonly #inspectPort: number | undefined;
  #stopped = false;

  constructor(definition: FunctionDefinition, onLog: OnLog, inspectPort: number | undefined) {
    this.definition = definition;
    this.timeoutSeconds = inspectPort === undefined ? definition.timeoutSeconds : unlimitedSeconds;
    this.#onLine = (line) => onLog(definition.name, line);
    this.#inspectPort = inspectPort;
    if (inspectPort !== undefined) this.#idle.push(this.#create());
  }

  async run(event: string, onChunk: OnChunk): Promise<{ outcome: Outcome; durationMs: number }> {
    const worker = await this.#take();
    const requestId = randomUUID();
    const coldStart = worker.initMs === 0;
    const started = performance.now();
    this.running.set(requestId, { event, kill: () => worker.kill() });
    const outcome = await worker.invoke(requestId, event, this.timeoutSeconds * 1000, onChunk);
    this.running.delete(requestId);
    const durationMs = performance.now() - started - (coldStart ? worker.initMs : 0);
    this.#report(requestId, outcome, durationMs, coldStart ? worker.initMs : undefined);
    this.#putBack(worker);
    return { outcome, durationMs };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#all].map((worker) => worker.stop()));
  }

  /** A debugger may be attached to the process of its function. */
  async recycle(): Promise<void> {
    if (this.#inspectPort !== undefined) return;
    const idle = this.#idle.splice(0);
    for (const worker of idle) this.#all.delete(worker);
    await Promise.all(idle.map((worker) => worker.stop()));
  }

  async #take(): Promise<Worker> {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (idle.alive) return idle;
      this.#all.delete(idle);
    }
    // One port serves one process.
    const most = this.#inspectPort === undefined ? workersPerFunction : 1;
    if (this.#all.size < most) return this.#create();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #create(): Worker {
    const worker = new Worker(this.definition, this.#onLine, this.#inspectPort);
    this.#all.add(worker);
    return worker;
  }

  #putBack(worker: Worker): void {
    if (this.#stopped) return;
    if (!worker.alive) this.#all.delete(worker);
    const next = this.#waiting.shift();
    if (next) next(worker.alive ? worker : this.#create());
    else if (worker.alive) this.#idle.push(worker);
  }

  /** The line with which Lambda ends every invocation in its JSON log format. */
  #report(requestId: string, outcome: Outcome, durationMs: number, initDurationMs: number | undefined): void {
    const failed = outcome.type === 'failed' ? outcome.error.errorType : undefined;
    const status = failed === undefined ? 'success' : failed === 'Sandbox.Timedout' ? 'timeout' : 'error';
    const metrics = {
      durationMs: round(durationMs),
      ...(initDurationMs ? { initDurationMs: round(initDurationMs) } : {}),
    };
    this.#onLine(
      JSON.stringify({ type: 'platform.report', record: { requestId, status, errorType: failed, metrics } }),
    );
  }
}

function failure(errorType: string, errorMessage: string): InvocationResult {
  return { ok: false, error: { errorType, errorMessage } };
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100;
}

/**
 * Invoke the functions that run once at deployment, in template order: the CDK writes them by dependency. A failure
 * would roll a deployment back, so the engine does not start.
 * @throws EngineError when a function fails
 */
export async function runTriggers(deployment: Deployment, functions: Functions): Promise<void> {
  for (const trigger of deployment.resources('Custom::Trigger')) {
    const { name, arn } = functions.definition(text(trigger, 'HandlerArn'));
    const result = await functions.invoke(arn, {});
    if (!result.ok) {
      throw new EngineError(`${name} failed: ${result.error.errorType}: ${result.error.errorMessage}`);
    }
  }
}

/**
 * The function to which a debugger can attach, with its sources beside its bundle: one process, started at once, without time
 * limits.
 *
 * @param name short name; `undefined`: none
 * @returns also the port of the inspector, on 127.0.0.1
 * @throws EngineError that lists the functions when there is none of the wanted name
 */
export async function inspectedFunction(
  name: string | undefined,
  assemblyDir: string,
  definitions: readonly FunctionDefinition[],
) {
  if (name === undefined) return undefined;
  const found = definitions.find((definition) => definition.name === name);
  if (found === undefined) {
    const names = definitions.map((definition) => definition.name).sort();
    throw new EngineError(`there is no function ${name} to inspect: choose one of ${names.join(', ')}`);
  }
  attachSourceMap(assemblyDir, name, String(found.environment.LAMBDA_TASK_ROOT));
  return { name, port: await freePort([usualInspectorPort, 0]) };
}

/** The port where debuggers look first. */
const usualInspectorPort = 9229;
