import { setTimeout as pause } from 'node:timers/promises';
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { ChangeMessageVisibilityCommand } from '@aws-sdk/client-sqs';
import type { AwsCall } from '../../lib/local/endpoint/traffic.ts';
import { type Service, workQueueUrls } from './service.ts';

/** The message that a function works on while it makes a call. */
interface Delivery {
  /** Of the function's invocation. */
  readonly invocation: string;
  readonly requestId: string;
  /** Of a file export; `undefined` for an export request. */
  readonly fileId: string | undefined;
  /** How often the message has been received, this time included. */
  readonly received: number;
  readonly queueUrl: string;
  readonly receiptHandle: string;
}

/** `undefined` for calls that no consumer of a queue makes. */
export function deliveryOf(service: Service, { invocation = '' }: AwsCall): Delivery | undefined {
  const event = service.engine.functions.invocation(invocation)?.event;
  const record = event === undefined ? undefined : JSON.parse(event).Records?.[0];
  if (!record) return undefined;
  const { outputs } = service.connection;
  const queueUrl = workQueueUrls(outputs).find((url) => nameOf(url) === record.eventSourceARN.split(':').at(-1)) ?? '';
  const common = { invocation, received: Number(record.attributes.ApproximateReceiveCount) };
  const { receiptHandle, messageAttributes, body } = record;
  if (queueUrl !== outputs.ExportRequestsQueueUrl) {
    const { requestId, fileId } = JSON.parse(body);
    return { ...common, requestId, fileId, receiptHandle, queueUrl };
  }
  const requestId = messageAttributes.requestId?.stringValue;
  return { ...common, requestId, fileId: undefined, receiptHandle, queueUrl };
}

const nameOf = (queueUrl: string) => queueUrl.split('/').at(-1);

/** Receive a message again now rather than when its visibility timeout ends. */
async function forceVisible(service: Service, { queueUrl, receiptHandle }: Delivery): Promise<void> {
  await service.sqs.send(
    new ChangeMessageVisibilityCommand({ QueueUrl: queueUrl, ReceiptHandle: receiptHandle, VisibilityTimeout: 0 }),
  );
}

/**
 * Let a visibility timeout pass for a message whose invocation is over: what it uploaded is as old as the timeout by
 * then (90 minutes in the template).
 */
export async function passVisibilityTimeout(service: Service, delivery: Delivery, outboxPrefix: string): Promise<void> {
  while (service.engine.functions.invocation(delivery.invocation)) await pause(5);
  service.engine.s3.backdateUploads(outboxPrefix, 90 * 60_000);
  await forceVisible(service, delivery);
}

/** Whether the work queues hold nothing, waiting or in flight. */
export async function areQueuesEmpty(service: Service): Promise<boolean> {
  const depths = await Promise.all(workQueueUrls(service.connection.outputs).map((url) => service.queueDepth(url)));
  return depths.every((depth) => depth === 0);
}

/** Keys of the multipart uploads to the outbox that were neither completed nor aborted. */
export async function unfinishedUploads(service: Service): Promise<readonly string[]> {
  const Bucket = service.connection.outputs.OutboxBucketName;
  const { Uploads = [] } = await service.s3.send(new ListMultipartUploadsCommand({ Bucket }));
  return Uploads.map(({ Key = '' }) => Key);
}
