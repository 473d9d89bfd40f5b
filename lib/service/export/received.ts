import * as z from 'zod';
import { parseJson } from '../../common/untrusted-json.ts';
import { type ExportRequestMessage, exportRequestAttributes, exportRequestMessage } from '../../contract/messages.ts';
import type { rejectionReasons } from '../../contract/reasons.ts';
import { DataOutError } from '../../errors.ts';
import type { VisaErrorCode } from '../../visas/index.ts';

/** A message as a queue delivers it. Nothing in it has been checked. */
export interface ReceivedMessage {
  readonly messageId: string;
  readonly body: string;
  /** When the queue took it: the same at every delivery. */
  readonly sentAt: Date;
  /** String values of the message attributes. */
  readonly attributes: Readonly<Record<string, string | undefined>>;
}

const archiveKind = z.string().regex(/^[A-Za-z0-9._-]{1,64}$/);

/** How far a sender's clock may be ahead of the queue's. */
const clockSkewMs = 60_000;

/** What names a request in every log line and ranks it among others for the same file. */
export type RequestIdentity = ReturnType<typeof identityOf>;

/**
 * Id, time and archive kind of a request, from the attributes. A message that did not come through the delivery API has no `requestId`; its
 * message id serves, which is a UUID and stays the same at every delivery.
 *
 * @throws request_rejected `malformed_message`
 */
export function identityOf({ messageId, attributes, sentAt }: ReceivedMessage) {
  const requestId = z.uuid().safeParse(attributes[exportRequestAttributes.requestId] ?? messageId);
  if (!requestId.success) throw rejection('malformed_message', 'the attribute requestId is not a UUID');
  const kind = archiveKind.optional().safeParse(attributes[exportRequestAttributes.archiveKind]);
  if (!kind.success) throw rejection('malformed_message', 'the attribute archiveKind is not a name');
  const said = new Date(z.iso.datetime().safeParse(attributes[exportRequestAttributes.requestedAt]).data ?? sentAt);
  // A request from the future would win over every later one.
  const requestedAt = said.getTime() > sentAt.getTime() + clockSkewMs ? sentAt : said;
  return { requestId: requestId.data.toLowerCase(), requestedAt, archiveKind: kind.data };
}

/** @throws request_rejected `malformed_message`, which names fields and never their values */
export function parseExportRequest({ body }: ReceivedMessage): ExportRequestMessage {
  const parsed = exportRequestMessage.safeParse(parseJson(body));
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map((issue) => issue.path.join('.') || 'message');
  throw rejection('malformed_message', `malformed: ${[...new Set(fields)].join(', ')}`);
}

/** Why an export request was rejected. The requester does not see these words. */
export type RejectionReason = keyof typeof rejectionReasons | `visa_${VisaErrorCode}`;

/** An error with a reason from the one list. `message` names no token, key or visa. */
export function rejection(reason: RejectionReason, message: string): DataOutError {
  return new DataOutError('request_rejected', message, { reason });
}
