import * as z from 'zod';
import { limits } from './limits.ts';

/** Text of 1 to `max` characters. The messages name the rule and never repeat a value. One broken rule is named. */
function text(max: number) {
  return z
    .string({ error: ({ input }) => (input === undefined ? 'is missing' : 'must be a string') })
    .refine((value) => value !== '', { error: 'must not be empty', abort: true })
    .refine((value) => value.length <= max, { error: `must not be longer than ${max} characters`, abort: true });
}

/**
 * Dataset or file identifier, any text but control characters and lone surrogates: PostgreSQL's `text` cannot hold NUL
 * or a lone surrogate, so looking up such a value would fail every time.
 */
export const identifier = text(limits.identifierLength).refine((value) => !/[\p{Cc}\p{Cs}]/u.test(value), {
  error: 'must not hold control characters or half a surrogate pair',
  abort: true,
});

/**
 * Body of a message on `export-requests`: the message that export consumers of Federated EGA read. Exactly one of
 * `datasetId` and `fileId`. Nothing in it has been verified.
 */
export const exportRequestMessage = z
  .strictObject({
    jwtToken: text(limits.visaBytes),
    publicKey: text(limits.exportBodyBytes),
    datasetId: identifier.optional(),
    fileId: identifier.optional(),
  })
  .refine((message) => (message.datasetId === undefined) !== (message.fileId === undefined), {
    message: 'exactly one of datasetId and fileId',
  });
export type ExportRequestMessage = z.infer<typeof exportRequestMessage>;

/**
 * Names of the SQS message attributes of `export-requests`. They stay with the message. A redrive from the dead-letter
 * queue gives it a new message id and a new time of sending.
 */
export const exportRequestAttributes = {
  /** UUID. If absent, the message id is used. */
  requestId: 'requestId',
  /** When the proxy took the request, ISO 8601 in UTC. If absent, the time when the queue took the message is used. */
  requestedAt: 'requestedAt',
  archiveKind: 'archiveKind',
} as const;

/** SHA-256 in hex. */
const hash = z.string().regex(/^[0-9a-f]{64}$/);

/** Body of a message on `file-exports`: one file for one recipient. It carries no visa. */
export const fileExportMessage = z.strictObject({
  requestId: z.uuid(),
  /** When the export was requested, ISO 8601 with milliseconds: of two requests for one container the newer wins. */
  requestedAt: z.iso.datetime(),
  /** Stable id, `EGAF…`. */
  fileId: identifier,
  /** Stable id, `EGAD…`. */
  datasetId: identifier,
  /** Outbox prefix of the recipient, see `outboxPrefix`. */
  recipient: hash,
  /** Raw X25519 public key, base64 of 32 bytes. Only the form is checked here. */
  publicKey: z.base64().length(44),
  /**
   * Hashes (`entryHash`) of what the grant depends on besides `recipient`: its tokens, and their other subjects.
   * Messages of versions without a deny list lack it.
   */
  restsOn: z
    .array(hash)
    .max(2 * limits.visasPerPassport + 2)
    .optional(),
});
export type FileExportMessage = z.infer<typeof fileExportMessage>;

/** Body of a message on `deliveries`: each file of this request is settled. */
export const deliveryMessage = z.strictObject({ requestId: z.uuid() });
export type DeliveryMessage = z.infer<typeof deliveryMessage>;
