import type { SQSRecord } from 'aws-lambda';
import * as z from 'zod';
import { exportRequestAttributes, exportRequestMessage, fileExportMessage } from '../../lib/contract/messages.ts';

const uuid = z.uuid();
const message = z.union([exportRequestMessage, fileExportMessage]);

/**
 * What a record is about, as fields of a log line: the ids alone, and only of a message of the known form, because
 * visas and keys stand beside them. The request id is the one that the audit trail has.
 */
export function describeRecord({ messageId, messageAttributes, body }: SQSRecord): Record<string, string> {
  const named = uuid.safeParse(messageAttributes[exportRequestAttributes.requestId]?.stringValue).data;
  const parsed = message.safeParse(json(body)).data;
  const inBody = parsed && 'requestId' in parsed ? parsed.requestId : undefined;
  return {
    requestId: named ?? inBody ?? messageId,
    ...(parsed?.datasetId !== undefined && { datasetId: parsed.datasetId }),
    ...(parsed?.fileId !== undefined && { fileId: parsed.fileId }),
  };
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
