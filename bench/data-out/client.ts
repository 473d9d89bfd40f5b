import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Job, JobReply } from './client-process.ts';

/** The figures of one job of the client. */
export interface Transfer {
  readonly bytes: number;
  /** Milliseconds from the first request to the first byte of any body, and to the last byte of all. */
  readonly firstByteMs: number;
  readonly milliseconds: number;
  /** Milliseconds since the epoch, to compare with times of other processes. */
  readonly firstByteAt: number;
}

/** A client of HTTP in its own process, with connections that stay open. */
export class Client {
  readonly #process: ChildProcess = fork(fileURLToPath(new URL('./client-process.ts', import.meta.url)));

  /** @throws Error for a status other than 200, 206 and 307, or for a reply that is not whole */
  async run(job: Job): Promise<Transfer> {
    const replied = once(this.#process, 'message') as Promise<[JobReply]>;
    this.#process.send(job);
    const [reply] = await replied;
    if ('error' in reply) throw new Error(reply.error);
    const firstByteAt = Math.min(...reply.fetched.map((one) => one.firstByteAt));
    return {
      bytes: reply.fetched.reduce((sum, { bytes }) => sum + bytes, 0),
      firstByteMs: firstByteAt - reply.startedAt,
      milliseconds: Math.max(...reply.fetched.map(({ endedAt }) => endedAt)) - reply.startedAt,
      firstByteAt,
    };
  }

  stop(): void {
    this.#process.disconnect();
  }
}
