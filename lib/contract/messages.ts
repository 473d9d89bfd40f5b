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
   * @default - nothing else
   */
  dependsOn: z
    .array(hash)
    .max(2 * limits.visasPerPassport + 2)
    .optional(),
});
export type FileExportMessage = z.infer<typeof fileExportMessage>;

/** Body of a message on `deliveries`: no file of this request is open. */
export const deliveryMessage = z.strictObject({ requestId: z.uuid() });
export type DeliveryMessage = z.infer<typeof deliveryMessage>;

/**
 * Begins the ids of datasets and files of a smoke test, and the keys of their archived bodies. A smoke test deletes what
 * earlier ones left under it, so nothing else may begin so.
 */
export const smokeIdPrefix = 'SMOKE-';

/** A request to the function that describes files: the file, and the dataset through which the caller may have it. */
export const describeFileRequest = z.strictObject({ fileId: identifier, datasetId: identifier });
export type DescribeFileRequest = z.infer<typeof describeFileRequest>;

/** A file's plaintext, as the edit list of its stored header leaves it. A caller who may have the file may know all of this. */
const fileDescription = z.strictObject({
  /** Base name that the submitter gave; untrusted text. */
  fileName: z.string(),
  mediaType: z.string(),
  /** Bytes. */
  size: z.number().int().nonnegative(),
  /** Strong entity tag, with its quotes: that of `GET /files/{fileId}`. */
  etag: z.string(),
  /** When the catalogue recorded the file, or else when its body was stored; ISO 8601 in UTC. */
  createdAt: z.iso.datetime(),
  /**
   * Digests of exactly these bytes, in lower-case hex. A digest made before an edit list, or of another size, is left
   * out.
   */
  checksums: z.array(z.strictObject({ type: z.enum(['MD5', 'SHA256', 'SHA384', 'SHA512']), value: z.string() })),
});
export type FileDescription = z.infer<typeof fileDescription>;

/** The reply. An error is its code alone; the function's own log has the details. */
export const describeFileReply = z.union([
  z.strictObject({ description: fileDescription }),
  z.strictObject({
    error: z.discriminatedUnion('code', [
      z.strictObject({ code: z.literal('forbidden') }),
      z.strictObject({ code: z.literal('archive_damaged') }),
      z.strictObject({ code: z.literal('temporarily_unavailable'), retryAfterSeconds: z.number().positive() }),
    ]),
  }),
]);
export type DescribeFileReply = z.infer<typeof describeFileReply>;
export type DescribeFileError = Extract<DescribeFileReply, { error: unknown }>['error'];
