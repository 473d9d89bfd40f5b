import { exportRequestMessage } from '../../lib/contract/messages.ts';
import type { ExportRequest, ExportRequestsQueue } from '../../lib/service/stores/queues.ts';

/** The queue `ExportRequests` in memory: takes what SQS and the message's schema take, refuses the rest. */
export class RecordingExportRequests implements ExportRequestsQueue {
  readonly published: ExportRequest[] = [];
  /** When set, every message is refused with this error. */
  failure: Error | undefined;

  async publish(request: ExportRequest): Promise<void> {
    if (this.failure) throw this.failure;
    const body = JSON.stringify(exportRequestMessage.parse(request.message));
    // https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
    if (!/^[\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]+$/u.test(body)) {
      throw new Error('InvalidMessageContents');
    }
    if (Buffer.byteLength(body) > 1_048_576) throw new Error('MessageTooLong');
    this.published.push(request);
  }
}
