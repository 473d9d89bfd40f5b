import { setTimeout as pause } from 'node:timers/promises';
import { dataset, type MainJob } from './main-job.ts';
import { interrupted } from './run-steps.ts';

/** A request that callers repeat. */
interface Caller {
  readonly name: string;
  readonly pauseMs: number;
  /** @returns its reply, and whether that is right */
  ask(): Promise<{ readonly reply: Response; readonly isRight: boolean }>;
}

/** Callers that ask while a deployment continues. They repeat what got no reply, or a status of 500 or more, as clients do. */
export class Callers {
  readonly #job: MainJob;
  readonly #orders = new Map<string, string>();
  readonly #wrong: string[] = [];
  #isOver = false;
  #asked = 0;
  #repeated = 0;
  readonly #asking: Promise<unknown>;

  constructor(job: MainJob) {
    this.#job = job;
    this.#asking = Promise.all(this.#callers().map((caller) => this.#keepAsking(caller)));
  }

  #callers(): readonly Caller[] {
    const job = this.#job;
    return [
      {
        name: 'an order',
        pauseMs: 3000,
        ask: async () => {
          const subject = `researcher-${crypto.randomUUID()}`;
          const { reply, requestId } = await job.order(subject);
          if (requestId) this.#orders.set(requestId, subject);
          return { reply, isRight: requestId !== undefined };
        },
      },
      {
        name: 'a listing',
        pauseMs: 500,
        ask: async () => {
          const { reply, names } = await job.containers();
          return { reply, isRight: names.length === job.fileCount };
        },
      },
      {
        name: 'a range of a file',
        pauseMs: 500,
        ask: async () => {
          const reply = await job.range(100, 299);
          return { reply, isRight: reply.status === 206 && (await reply.arrayBuffer()).byteLength === 200 };
        },
      },
      {
        name: 'the datasets',
        pauseMs: 500,
        ask: async () => {
          const reply = await job.direct('metadata/datasets');
          return { reply, isRight: (await reply.text()) === JSON.stringify([dataset]) };
        },
      },
    ];
  }

  async #keepAsking({ name, pauseMs, ask }: Caller): Promise<void> {
    while (!this.#isOver && !interrupted.aborted) {
      this.#asked += 1;
      for (let tries = 1; ; tries += 1) {
        const { reply, isRight } = await ask().catch((error: unknown) => ({ reply: error, isRight: false }));
        if (isRight) break;
        const status = reply instanceof Response ? reply.status : 500;
        if (status < 500 || tries === 8) {
          this.#wrong.push(`${name}: ${reply instanceof Response ? reply.status : String(reply)}`);
          break;
        }
        this.#repeated += 1;
        await pause(1000);
      }
      await pause(pauseMs);
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#asking;
  }

  /** Looks at the answers, and at what was ordered. @throws Error when an answer was wrong, or an order was lost */
  async judge(): Promise<string> {
    if (this.#wrong.length > 0) throw new Error(`answers that a repetition does not cure: ${this.#wrong.join('; ')}`);
    for (const [requestId, subject] of this.#orders) {
      await this.#job.completed(requestId);
      const { names } = await this.#job.containers(subject);
      if (names.length !== this.#job.fileCount) throw new Error(`${requestId} has ${names.length} containers`);
    }
    return `${this.#asked} requests, ${this.#repeated} of them repeated; ${this.#orders.size} orders complete`;
  }
}
