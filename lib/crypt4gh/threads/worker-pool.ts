import { Worker } from 'node:worker_threads';
import { expectOne } from '../bytes.ts';
import type { FileJobResult, SharedFileJob } from './file-job.ts';
import type { SegmentJob, SegmentJobResult } from './segment-job.ts';

/** A job for a thread. */
export type WorkerJob = SegmentJob | SharedFileJob;

/** A thread's answer to a job. Answers come in the order of the jobs. */
export type WorkerAnswer =
  | { readonly result: SegmentJobResult | FileJobResult }
  | { readonly error: { readonly message: string; readonly code?: string } };

interface Waiting {
  answer(answer: WorkerAnswer): void;
  reject(error: Error): void;
}

/** A thread and the jobs that it has not answered yet, in order. */
interface Thread {
  readonly worker: Worker;
  readonly waiting: Waiting[];
}

/** Threads that do jobs. A thread starts with its first job. Without jobs, it does not keep the process alive. */
export class WorkerPool {
  readonly size: number;
  readonly #url: URL;
  readonly #threads: Thread[] = [];
  #failure: Error | undefined;
  #ended: Promise<void> | undefined;

  constructor(options: { readonly threads: number; readonly workerUrl: URL }) {
    const { threads, workerUrl } = options;
    expectOne(threads, 'thread');
    this.size = threads;
    this.#url = workerUrl;
  }

  /** Gives the job and its memory to the thread with the fewest jobs. */
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

  /** Ends the threads. Unfinished jobs and later jobs fail. */
  async close(): Promise<void> {
    await this.#fail(new Error('the worker threads have been closed'));
  }

  #leastBusy(): Thread {
    const [least] = this.#threads.toSorted((one, other) => one.waiting.length - other.waiting.length);
    if (least !== undefined && (least.waiting.length === 0 || this.#threads.length === this.size)) return least;
    return this.#start();
  }

  #start(): Thread {
    // The thread gets neither the environment nor the flags of the process.
    const worker = new Worker(this.#url, { name: 'crypt4gh', env: {}, execArgv: [], argv: [] });
    const thread: Thread = { worker, waiting: [] };
    worker.unref();
    worker.on('message', (answer: WorkerAnswer) => {
      thread.waiting.shift()?.answer(answer);
      // A thread that is ending must keep the process alive, because a caller waits for its end.
      if (thread.waiting.length === 0 && this.#ended === undefined) worker.unref();
    });
    worker.on('messageerror', (error) => void this.#fail(error));
    worker.on('error', (error) => void this.#fail(error instanceof Error ? error : new Error(String(error))));
    worker.on('exit', (code) => void this.#fail(new Error(`a worker thread ended unexpectedly with code ${code}`)));
    this.#threads.push(thread);
    return thread;
  }

  /**
   * Ends all threads after the failure of one: the others would fail likewise, and a body with a gap is useless. Jobs fail only
   * after all threads have ended. Otherwise a thread could still write to a descriptor that the caller has closed, and that by
   * then belongs to another file.
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
