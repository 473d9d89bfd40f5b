import * as z from 'zod';
import { parseJson } from '../../common/untrusted-json.ts';
import {
  deliveryMessage,
  type ExportRequestMessage,
  exportRequestAttributes,
  exportRequestMessage,
  fileExportMessage,
} from '../../contract/messages.ts';
import type { rejectionReasons } from '../../contract/reasons.ts';
import { Crypt4ghError, parsePublicKey } from '../../crypt4gh/index.ts';
import { DataOutError } from '../../errors.ts';
import type { VisaErrorCode } from '../../visas/index.ts';
import type { Receive } from './ledger-port.ts';
import type { FileExport } from './ports.ts';

/** A message as a queue delivers it. Nothing in it has been checked. */
export interface ReceivedMessage {
  readonly messageId: string;
  readonly body: string;
  /** When the queue took it: the same at every delivery, until a redrive from the dead-letter queue renews it. */
  readonly sentAt: Date;
  readonly receive: Receive;
}

/** A message of the queue `export-requests`. */
export interface ReceivedExportRequest extends ReceivedMessage {
  /** String values of the message attributes. */
  readonly attributes: Readonly<Record<string, string | undefined>>;
}

const uuid = z.uuid();
const archiveKind = z.string().regex(/^[A-Za-z0-9._-]{1,64}$/);

/** How far a sender's clock may be ahead of the queue's. */
const clockSkewMs = 60_000;
const instant = z.iso.datetime();

/** The identity of a request, from the attributes: id and archive kind name it in every trace, its time ranks it. */
export interface RequestIdentity {
  readonly requestId: string;
  readonly requestedAt: Date;
  readonly archiveKind: string | undefined;
}

/**
 * Id, time and archive kind of a request. A message that did not come through the proxy carries no `requestId`. Its message
 * id serves: that is a UUID, and stays the same at every delivery until a redrive.
 */
export function identityOf({ messageId, attributes, sentAt }: ReceivedExportRequest): RequestIdentity {
  const requestId = uuid.safeParse(attributes[exportRequestAttributes.requestId] ?? messageId);
  if (!requestId.success) throw rejection('malformed_message', 'the attribute requestId is not a UUID');
  const kind = archiveKind.optional().safeParse(attributes[exportRequestAttributes.archiveKind]);
  if (!kind.success) throw rejection('malformed_message', 'the attribute archiveKind is not a name');
  const requestedAt = timeOfRequest(attributes[exportRequestAttributes.requestedAt], sentAt);
  return { requestId: requestId.data, requestedAt, archiveKind: kind.data };
}

/**
 * When the request was made. Without a time, or with one later than the queue's, the queue's counts: a request from the future
 * would win over every later one. A redrive renews the queue's time, so an older time of the message still counts then.
 */
function timeOfRequest(text: string | undefined, sentAt: Date): Date {
  const requestedAt = new Date(instant.safeParse(text).data ?? sentAt);
  return requestedAt.getTime() > sentAt.getTime() + clockSkewMs ? sentAt : requestedAt;
}

interface Ids {
  readonly requestId?: string;
  readonly datasetId?: string | undefined;
  readonly fileId?: string | undefined;
}

const anyMessage = z.union([exportRequestMessage, fileExportMessage, deliveryMessage]);

/**
 * The ids that a message names. Only messages of the known forms are read, because the message also has visas and keys.
 *
 * @param named value of its attribute for the export's id, which wins if it is a UUID
 */
export function idsOf(body: string, named: string | undefined): Ids {
  const message: Partial<Record<'requestId' | 'datasetId' | 'fileId', string | undefined>> =
    anyMessage.safeParse(parseJson(body)).data ?? {};
  const { datasetId, fileId } = message;
  const requestId = uuid.safeParse(named).data ?? message.requestId;
  return { ...(requestId !== undefined && { requestId }), datasetId, fileId };
}

/** The ids of a message that was delivered. The export id is the one in the audit trail. */
export function idsOfDelivered({ messageId, body, attributes }: ReceivedExportRequest): Ids & { requestId: string } {
  return { requestId: messageId, ...idsOf(body, attributes[exportRequestAttributes.requestId]) };
}

export function parseExportRequest({ body }: ReceivedMessage): ExportRequestMessage {
  return parseBody(exportRequestMessage, body);
}

/** The message, with a `requestedAt` that is not in the future. */
export function parseFileExport({ body, sentAt }: ReceivedMessage): FileExport {
  const { requestId, ...message } = parseBody(fileExportMessage, body);
  return { ...message, requestId, requestedAt: timeOfRequest(message.requestedAt, sentAt).toISOString() };
}

/** Why an export request was rejected. The requester does not see these words. */
export type RejectionReason = keyof typeof rejectionReasons | `visa_${VisaErrorCode}`;

/** A `request_rejected` with a reason from the one list. `message` names no token, key or visa. */
export function rejection(reason: RejectionReason, message: string): DataOutError {
  return new DataOutError('request_rejected', message, { reason });
}

/** @returns 32 bytes */
export function parseRecipientKey(text: string): Uint8Array {
  try {
    return parsePublicKey(text);
  } catch (error) {
    if (error instanceof Crypt4ghError) throw rejection('unusable_public_key', error.code);
    throw error;
  }
}

/** @throws `request_rejected`, which names fields and never their values */
function parseBody<T>(schema: z.ZodType<T>, body: string): T {
  const parsed = schema.safeParse(parseJson(body));
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map((issue) => issue.path.join('.') || 'message');
  throw rejection('malformed_message', `malformed: ${[...new Set(fields)].join(', ')}`);
}
