import type { DeliveryMessage } from '../../contract/messages.ts';
import type { Deliveries } from '../../export/ports.ts';
import { type QueueOptions, sendAll } from './message-batches.ts';

/** The queue `deliveries`. */
export class SqsDeliveries implements Deliveries {
  readonly #options: QueueOptions;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** @throws TemporarilyUnavailableError when the queue has not taken every message in time. Some may be in it. */
  async send(requestIds: readonly string[]): Promise<void> {
    const outgoing = requestIds.map((requestId) => ({
      requestId,
      body: JSON.stringify({ requestId } satisfies DeliveryMessage),
    }));
    await sendAll(outgoing, this.#options, 'the queue of deliveries');
  }
}
