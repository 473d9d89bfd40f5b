import { Worker } from 'node:worker_threads';
import type { FileJobResult, SharedFileJob } from './file-job.ts';
import type { SegmentJob, SegmentJobResult } from './segment-job.ts';

/** What a thread is asked to do. */
export type WorkerJob = SegmentJob | SharedFileJob;

/** What it answers, in the order of the jobs. */
export type WorkerAnswer =
  | { readonly result: SegmentJobResult | FileJobResult }
  | { readonly error: { readonly message: string; readonly code?: string } };

interface Waiting {
  answer(answer: WorkerAnswer): void;
  reject(error: Error): void;
}

/** One thread and the jobs it has been given, which it answers in their order. */
interface Thread {
  readonly worker: Worker;
  readonly waiting: Waiting[];
}

/** Threads that do jobs. They start with their first job, and keep no process alive while they have none. */
export class WorkerPool {
  readonly size: number;
  readonly #url: URL;
  readonly #threads: Thread[] = [];
  #failure: Error | undefined;
  #ended: Promise<void> | undefined;

  constructor(options: { readonly threads: number; readonly workerUrl: URL }) {
    const { threads, workerUrl } = options;
    if (!Number.isSafeInteger(threads) || threads < 1)
      throw new RangeError(`expected at least one thread, got ${threads}`);
    this.size = threads;
    this.#url = workerUrl;
  }

  /**
   * Gives the job, and its memory, to the thread with the least to do.
   *
   * @throws what the job failed with; Error when the threads are closed or cannot run.
   */
  run(job: SegmentJob): Promise<SegmentJobResult>;
  run(job: SharedFileJob): Promise<FileJobResult>;
  async run(job: WorkerJob): Promise<SegmentJobResult | FileJobResult> {
    if (this.#failure !== undefined) throw this.#failure;
    const thread = this.#leastBusy();
    const answer = await new Promise<WorkerAnswer>((resolve, reject) => {
      thread.waiting.push({ answer: resolve, reject });
      thread.worker.ref();
      thread.worker.postMessage(job, 'bytes' in job ? [job.bytes.buffer] : []);
    });
    if ('result' in answer) return answer.result;
    const { message, ...more } = answer.error;
    throw Object.assign(new Error(message), more);
  }

  /** Ends the threads. Jobs that are not done, and later ones, fail. */
  async close(): Promise<void> {
    await this.#fail(new Error('the worker threads have been closed'));
  }

  #leastBusy(): Thread {
    const [least] = this.#threads.toSorted((one, other) => one.waiting.length - other.waiting.length);
    if (least !== undefined && (least.waiting.length === 0 || this.#threads.length === this.size)) return least;
    return this.#start();
  }

  #start(): Thread {
    // Nothing of the process reaches the thread: not its environment, not its flags.
    const worker = new Worker(this.#url, { name: 'crypt4gh', env: {}, execArgv: [], argv: [] });
    const thread: Thread = { worker, waiting: [] };
    worker.unref();
    worker.on('message', (answer: WorkerAnswer) => {
      thread.waiting.shift()?.answer(answer);
      // A thread that is being ended must keep the process alive: a caller waits for its end.
      if (thread.waiting.length === 0 && this.#ended === undefined) worker.unref();
    });
    worker.on('messageerror', (error) => void this.#fail(error));
    worker.on('error', (error) => void this.#fail(error instanceof Error ? error : new Error(String(error))));
    worker.on('exit', (code) => void this.#fail(new Error(`a worker thread ended by itself with code ${code}`)));
    this.#threads.push(thread);
    return thread;
  }

  /**
   * What one thread cannot do the others cannot either, and a body with a hole is of no use. Jobs fail when all threads have
   * ended: whoever then closes a file must not find that one still writes to its descriptor, by now perhaps another file's.
   */
  #fail(cause: Error): Promise<void> {
    this.#failure ??= new Error(`segments cannot be processed: ${cause.message}`, { cause });
    this.#ended ??= this.#end(this.#failure);
    return this.#ended;
  }

  async #end(failure: Error): Promise<void> {
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
    for (const { waiting } of this.#threads) {
      for (const { reject } of waiting.splice(0)) reject(failure);
    }
  }
}
