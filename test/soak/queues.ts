import { setTimeout as pause } from 'node:timers/promises';
import type { Service } from '../helpers/service.ts';
import type { RandomFaults } from './random-faults.ts';

/** A queue that functions work on, and where it puts messages that failed for good. */
interface WorkQueue {
  readonly url: string;
  readonly deadLettersUrl: string;
}

/** Longest time in which an export may seem to stand still, in milliseconds. */
const patienceMs = 180_000;
/** After this time without progress the visibility timeouts of failed messages pass, in milliseconds. */
const hiddenMs = 5_000;

/** The queues of the deployment as its outputs name them. */
export class Queues {
  readonly #service: Service;
  readonly #work: readonly WorkQueue[];

  private constructor(service: Service, work: readonly WorkQueue[]) {
    this.#service = service;
    this.#work = work;
  }

  static async of(service: Service): Promise<Queues> {
    const urls = Object.entries(service.connection.outputs)
      .filter(([name]) => name.endsWith('QueueUrl'))
      .flatMap(([, url]) => url ?? []);
    const nameOf = (url: string) => url.split('/').at(-1);
    const work: WorkQueue[] = [];
    for (const url of urls) {
      const { Attributes } = await service.engine.queues.sqs('GetQueueAttributes', {
        QueueUrl: url,
        AttributeNames: ['RedrivePolicy'],
      });
      const policy = (Attributes as Record<string, string> | undefined)?.RedrivePolicy;
      if (policy === undefined) continue;
      const deadLetters = String(JSON.parse(policy).deadLetterTargetArn).split(':').at(-1);
      const deadLettersUrl = urls.find((other) => nameOf(other) === deadLetters);
      if (deadLettersUrl === undefined) throw new Error(`no output names the dead letters of ${nameOf(url)}`);
      // A dead letter that could not be recorded comes back when the timeout of its queue is over, which is half an hour.
      await service.engine.queues.sqs('SetQueueAttributes', {
        QueueUrl: deadLettersUrl,
        Attributes: { VisibilityTimeout: String(hiddenMs / 1_000) },
      });
      work.push({ url, deadLettersUrl });
    }
    return new Queues(service, work);
  }

  async deadLetters(): Promise<number> {
    return this.#depth(this.#work.map(({ deadLettersUrl }) => deadLettersUrl));
  }

  /**
   * Wait until the work queues hold nothing.
   *
   * @param withDeadLetters also wait until all dead letters are recorded
   * @param published resolves when all requests are made
   * @param onLook called about twice a second
   * @throws Error when nothing moves for three minutes
   */
  async drained(
    published: Promise<void>,
    faults: RandomFaults,
    onLook: () => Promise<unknown>,
    withDeadLetters: boolean,
  ): Promise<void> {
    let isPublished = false;
    const publishing = published.then(() => {
      isPublished = true;
    });
    const work = this.#work.flatMap(({ url, deadLettersUrl }) => (withDeadLetters ? [url, deadLettersUrl] : [url]));
    let last = '';
    let movedAt = Date.now();
    for (let empty = 0; empty < 2; ) {
      await Promise.race([pause(500), isPublished ? pause(500) : publishing]);
      await onLook();
      const depth = await this.#depth(work);
      empty = isPublished && depth === 0 ? empty + 1 : 0;
      const progress = `${depth} ${await this.deadLetters()} ${await this.#rows()}`;
      if (progress !== last) [last, movedAt] = [progress, Date.now()];
      else if (Date.now() - movedAt > patienceMs) throw new Error(`${depth} messages wait, and nothing moves`);
      else if (Date.now() - movedAt > hiddenMs) await this.#passVisibilityTimeouts(faults);
    }
    await publishing;
  }

  async #depth(urls: readonly string[]): Promise<number> {
    const depths = await Promise.all(urls.map((url) => this.#service.queueDepth(url)));
    return depths.reduce((sum, depth) => sum + depth, 0);
  }

  async #rows(): Promise<string> {
    const [[rows] = []] = await this.#service.sql('select max(id) from data_out.export_log');
    return rows ?? '0';
  }

  /** A message whose visibility could not be changed would wait for the timeout of its queue, which is over an hour. */
  async #passVisibilityTimeouts({ hidden }: RandomFaults): Promise<void> {
    for (const { queueUrl, receiptHandle } of hidden.splice(0)) {
      const input = { QueueUrl: queueUrl, ReceiptHandle: receiptHandle, VisibilityTimeout: 0 };
      // The message may have been handled since.
      await this.#service.engine.queues.sqs('ChangeMessageVisibility', input).catch(() => undefined);
    }
  }
}
