import * as z from 'zod';
import { identifier } from './messages.ts';

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
