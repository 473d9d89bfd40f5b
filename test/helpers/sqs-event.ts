import type { Context, SQSEvent, SQSRecord } from 'aws-lambda';

/** An SQS record as Lambda delivers it, with the fields that this service reads. */
export function sqsRecord(options: {
  readonly body: string;
  readonly messageId?: string;
  readonly received?: number;
  readonly attributes?: Readonly<Record<string, string>>;
}): SQSRecord {
  const { body, messageId = '99999999-9999-4999-8999-999999999999', received = 1, attributes = {} } = options;
  return {
    messageId,
    receiptHandle: `receipt of ${messageId}`,
    body,
    attributes: {
      ApproximateReceiveCount: String(received),
      // 2026-11-21T09:59:00.123Z
      SentTimestamp: '1795255140123',
      SenderId: 'AIDAEXAMPLE',
      ApproximateFirstReceiveTimestamp: '1795255140200',
    },
    messageAttributes: Object.fromEntries(
      Object.entries(attributes).map(([name, stringValue]) => [name, { dataType: 'String', stringValue }]),
    ),
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:eu-north-1:123456789012:queue',
    awsRegion: 'eu-north-1',
  };
}

export const sqsEvent = (...Records: readonly SQSRecord[]): SQSEvent => ({ Records: [...Records] });

/** A context with that much time left; whatever else is asked of it fails the test. */
export function lambdaContext(remainingMs = 900_000): Context {
  const known: Partial<Context> = {
    functionName: 'function',
    functionVersion: '1',
    invokedFunctionArn: 'arn:aws:lambda:eu-north-1:123456789012:function:function',
    memoryLimitInMB: '512',
    awsRequestId: '88888888-8888-4888-8888-888888888888',
    getRemainingTimeInMillis: () => remainingMs,
  };
  return new Proxy(known as Context, {
    get(target, name) {
      // Asked for by the logger, absent unless the function has tenants.
      if (name in target || name === 'tenantId') return Reflect.get(target, name);
      throw new Error(`the context has no ${String(name)} in this test`);
    },
  });
}

/** The EMF metrics among the lines of a log, as name → value, and `reason` where there is one. */
export function metricsOf(documents: readonly Record<string, unknown>[]): readonly Record<string, unknown>[] {
  const plumbing = new Set(['_aws', 'service', 'deployment', 'functionName']);
  return documents
    .filter((line) => '_aws' in line)
    .map((line) => Object.fromEntries(Object.entries(line).filter(([name]) => !plumbing.has(name))));
}
