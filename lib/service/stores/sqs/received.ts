import { ChangeMessageVisibilityCommand, type SQSClient } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { parseJson } from '../../../common/untrusted-json.ts';
import { deliveryMessage, exportRequestMessage, fileExportMessage } from '../../../contract/messages.ts';
import { BodyMissingError, TemporarilyUnavailableError } from '../../../errors.ts';

const uuid = z.uuid();
const anyMessage = z.union([exportRequestMessage, fileExportMessage, deliveryMessage]);

interface Ids {
  readonly exportId?: string;
  readonly datasetId?: string;
  readonly fileId?: string;
}

/**
 * The ids that a message names. Only messages of the known forms are read, because visas and keys stand beside the ids.
 *
 * @param named value of its attribute for the export's id, which wins if it is a UUID
 */
export function idsOf(body: string, named: string | undefined): Ids {
  const { requestId, datasetId, fileId }: Partial<Record<'requestId' | 'datasetId' | 'fileId', string | undefined>> =
    anyMessage.safeParse(parseJson(body)).data ?? {};
  const exportId = uuid.safeParse(named).data ?? requestId;
  return { ...(exportId && { exportId }), ...(datasetId && { datasetId }), ...(fileId && { fileId }) };
}

/** Longest visibility timeout that SQS takes, in seconds (12 h). */
const longestDelaySeconds = 43_200;

/** Seconds before the 2nd, 3rd, … receive of a message that failed; the last one repeats. */
export type RetryDelays = readonly [number, ...number[]];

/** @param text seconds, separated by commas @throws Error for anything else */
export function parseRetryDelays(text: string): RetryDelays {
  const [first, ...others] = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  const delays = [first ?? Number.NaN, ...others] as const;
  if (!delays.every((delay) => Number.isInteger(delay) && delay >= 0 && delay <= longestDelaySeconds)) {
    throw new Error('retry delays: expected whole seconds from 0 to 43200, separated by commas');
  }
  return delays;
}

/** Seconds until a message that failed is received again. @param receives how often it was received so far */
export function delayAfter(error: unknown, receives: number, delays: RetryDelays): number {
  // A message whose body is missing is given up. SQS moves it to the dead letters, and no delay helps.
  if (error instanceof BodyMissingError) return 0;
  if (error instanceof TemporarilyUnavailableError && error.retryAfterSeconds === 0) return 0;
  return delays[receives - 1] ?? delays.at(-1) ?? delays[0];
}

/** Let the queue deliver a received message again after `seconds`. */
export async function redeliverAfter(
  seconds: number,
  { receiptHandle, queueUrl }: { readonly receiptHandle: string; readonly queueUrl: string },
  sqs: Pick<SQSClient, 'send'>,
): Promise<void> {
  await sqs.send(
    new ChangeMessageVisibilityCommand({
      QueueUrl: queueUrl,
      ReceiptHandle: receiptHandle,
      VisibilityTimeout: seconds,
    }),
  );
}
