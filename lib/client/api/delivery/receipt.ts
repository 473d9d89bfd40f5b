import * as z from 'zod/mini';
import { fileNameBytes } from '../../../common/names.ts';
import {
  type DeliveredFile,
  type DeliveryReceipt,
  isReceiptName,
  type MissingFile,
} from '../../../contract/delivery.ts';
import { ClientError, type ClientErrorOptions } from '../errors.ts';
import { text, wholeNumber } from '../json.ts';

/** A receipt that must not be relied on. `file`: its name, if it is one of a folder. */
export class ReceiptError extends ClientError {
  readonly file: string | undefined;

  constructor(message: string, { file, ...options }: ClientErrorOptions & { readonly file?: string } = {}) {
    const remedy = 'Download the receipt again. If that does not help, tell the operator.';
    super('not_verified', message, { remedy, ...options });
    this.file = file;
  }
}

const like = (pattern: RegExp) => z.string().check(z.regex(pattern));
const sha256Hex = like(/^[0-9a-f]{64}$/);
/** Base64 of eight bytes. */
const crcBase64 = like(/^[A-Za-z0-9+/]{10}[AEIMQUYcgkosw048]=$/);
/** An outbox name is one path segment of these characters and begins with no dot. */
const outboxName = like(new RegExp(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,${fileNameBytes - 1}}$`));
const uuid = like(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const time = like(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/).check(
  z.refine((value) => !Number.isNaN(Date.parse(value))),
);

const receipt = z.object({
  iss: text,
  iat: wholeNumber,
  jti: uuid,
  requested_at: time,
  generation: wholeNumber.check(z.positive()),
  dataset: text,
  kind: z.enum(['dataset', 'file']),
  key_fingerprint: sha256Hex,
  complete: z.boolean(),
  files: z.array(z.unknown()),
  missing: z.array(z.unknown()),
});

const delivered = z.object({
  name: outboxName,
  file_id: text,
  path: z.string(),
  size: wholeNumber,
  header_sha256: sha256Hex,
  plaintext_size: z.optional(wholeNumber),
  plaintext_sha256: z.optional(sha256Hex),
  crc64nvme: z.optional(crcBase64),
});

const missed = z.object({ file_id: text, path: z.string(), reason: text, by: z.optional(uuid) });

/**
 * The payload of a receipt, member by member. Unknown members are ignored.
 * @param payload with a placeholder for each file and each missing file
 * @param files of {@link deliveredFile}
 * @param missing of {@link missingFile}
 * @throws ReceiptError if it is none
 */
export function parseReceipt<T extends { readonly length: number }>(
  payload: unknown,
  files: T,
  missing: readonly MissingFile[],
): Omit<DeliveryReceipt, 'files'> & { readonly files: T } {
  const found = read(receipt, payload, 'it');
  if (found.files.length !== files.length) throw malformed('a file is not an object');
  if (found.missing.length !== missing.length) throw malformed('a missing file is not an object');
  if (found.complete && missing.length > 0) throw malformed('it says "complete" and lists missing files');
  return { ...found, files, missing };
}

/** @throws ReceiptError. The names of files become local paths, so any other than an outbox name is refused. */
export function deliveredFile(value: unknown): DeliveredFile {
  const file = read(delivered, value, 'a file');
  if (isReceiptName(file.name)) throw malformed('a file has the name of a receipt');
  return file as DeliveredFile;
}

/** @throws ReceiptError */
export function missingFile(value: unknown): MissingFile {
  return read(missed, value, 'a missing file') as MissingFile;
}

function read<T>(schema: z.ZodMiniType<T>, value: unknown, what: string): T {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const [name] = error.issues[0]?.path ?? [];
  throw malformed(name === undefined ? `${what} is not an object` : `${what} has no usable ${String(name)}`);
}

export function malformed(what: string): ReceiptError {
  return new ReceiptError(`this is not a delivery receipt: ${what}`);
}
