import type { MessageSystemAttributeValue } from '@aws-sdk/client-sqs';

/** The X-Ray header of a request, by its id; `undefined`: the message goes without one. */
export type TraceOf = (requestId: string) => string | undefined;

/**
 * The part of a message by which X-Ray links its sender and its consumer. SQS counts it neither towards the size of the
 * message nor towards its attributes.
 */
export function withTrace(header: string | undefined): {
  readonly MessageSystemAttributes?: { AWSTraceHeader: MessageSystemAttributeValue };
} {
  if (header === undefined) return {};
  return { MessageSystemAttributes: { AWSTraceHeader: { DataType: 'String', StringValue: header } } };
}
