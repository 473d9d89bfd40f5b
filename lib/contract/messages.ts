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
 * Dataset or file identifier, any text without control characters and lone surrogates: PostgreSQL's `text` cannot hold NUL
 * or a lone surrogate, so the look-up of such a value would always fail.
 */
export const identifier = text(limits.identifierLength).refine((value) => !/[\p{Cc}\p{Cs}]/u.test(value), {
  error: 'must not hold control characters or half a surrogate pair',
  abort: true,
});

/**
 * Body of a message on `export-requests`: the field's own export request message. Exactly one of `datasetId` and
 * `fileId`. Nothing in it has been verified.
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
 * Names of the SQS message attributes of `export-requests`. They travel with the message for good, while a redrive from
 * the dead-letter queue gives it a new message id and a new time of sending.
 */
export const exportRequestAttributes = {
  /** UUID; without it the message id serves. */
  requestId: 'requestId',
  /** When the proxy took the request, ISO 8601 in UTC; without it the time when the queue took the message serves. */
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
  /** Raw X25519 public key, base64 of 32 bytes. The form alone is looked at here. */
  publicKey: z.base64().length(44),
  /**
   * What the grant rests on besides `recipient`, as `entryHash` has it: the tokens, and the subjects of the others. Absent
   * from messages of versions that knew no deny list.
   */
  restsOn: z
    .array(hash)
    .max(2 * limits.visasPerPassport + 2)
    .optional(),
});
export type FileExportMessage = z.infer<typeof fileExportMessage>;
