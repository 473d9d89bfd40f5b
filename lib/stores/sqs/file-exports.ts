import type { FileExportMessage } from '../../contract/messages.ts';
import type { FileExports } from '../../export/ports.ts';
import { jsonBody } from './json-body.ts';
import { type QueueOptions, sendAll } from './message-batches.ts';

/**
 * One of the two queues of file exports. The recipient is the message group: in a standard queue that asks SQS to keep
 * the waiting times of one group short while another has many messages (fair queues). It orders nothing.
 */
export class SqsFileExports implements FileExports {
  readonly #options: QueueOptions;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** @throws TemporarilyUnavailableError when the queue has not taken every message in time. Some may be in it. */
  async send(messages: readonly FileExportMessage[]): Promise<void> {
    const outgoing = messages.map((message) => ({
      requestId: message.requestId,
      body: jsonBody(message),
      group: message.recipient,
    }));
    await sendAll(outgoing, this.#options, 'the queue of file exports');
  }
}
