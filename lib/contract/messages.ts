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
 * Body of a message on `ExportRequests`: the message that export consumers of Federated EGA read. Exactly one of
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

/** Seconds before the 2nd, 3rd, … receive of a message that failed. One that fails once more goes to the dead letters. */
export const retryDelaysSeconds = [10, 60, 300, 900] as const;

/** Names of the SQS message attributes of `ExportRequests`. */
export const exportRequestAttributes = {
  /** UUID. If absent, the message id is used. */
  requestId: 'requestId',
  /** When the delivery API took the request, ISO 8601 in UTC. If absent, the time when the queue took the message is used. */
  requestedAt: 'requestedAt',
  archiveKind: 'archiveKind',
} as const;

/** Body of a message on `FileExports` and `SmallFileExports`: which row to look at. It carries no visa and no key. */
export const fileExportMessage = z.strictObject({
  requestId: z.uuid(),
  /** Stable id, `EGAF…`. */
  fileId: identifier,
});
export type FileExportMessage = z.infer<typeof fileExportMessage>;

/** Body of a message on `Deliveries`: no file of this request is open. */
export const deliveryMessage = z.strictObject({ requestId: z.uuid() });
export type DeliveryMessage = z.infer<typeof deliveryMessage>;

/**
 * Begins the ids of datasets and files of a smoke test, and the keys of their archived bodies. A smoke test deletes what
 * earlier ones left under it, so nothing else may begin so.
 */
export const smokeIdPrefix = 'SMOKE-';
