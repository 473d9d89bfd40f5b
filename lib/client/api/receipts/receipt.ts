import * as z from 'zod/mini';
import { parseJson } from '../../../common/untrusted-json.ts';
import { type DeliveryReceipt, filesPerReceipt, isReceiptName } from '../../../contract/delivery.ts';
import { limits } from '../../../contract/limits.ts';
import { isOutboxFileName } from '../../../contract/outbox-key.ts';
import { ClientError, type ClientErrorOptions } from '../errors.ts';
import { text, wholeNumber } from '../json.ts';

/** A receipt that must not be relied on. */
export class ReceiptError extends ClientError {
  constructor(message: string, options: ClientErrorOptions = {}) {
    const remedy = options.remedy ?? 'Download the receipt again. If that does not help, tell the operator.';
    super('not_verified', message, { ...options, remedy });
  }
}

const uuid = z.string().check(z.regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/));
const time = z.string().check(z.refine((value) => !Number.isNaN(Date.parse(value))));

/** The most receipts of one request. */
const mostParts = limits.filesPerExport / filesPerReceipt;

const delivered = z.object({
  name: z.string().check(z.refine((name) => isOutboxFileName(name) && !isReceiptName(name))),
  file_id: text,
  path: z.string(),
  size: wholeNumber,
  header_sha256: text,
  plaintext_size: z.optional(wholeNumber),
  plaintext_sha256: z.optional(text),
  crc64nvme: z.optional(text),
});

const missed = z.object({ file_id: text, path: z.string(), reason: text, by: z.optional(uuid) });

const receipt = z.object({
  iss: text,
  iat: wholeNumber,
  jti: uuid,
  requested_at: time,
  generation: wholeNumber.check(z.positive()),
  part: z.optional(wholeNumber.check(z.positive())),
  parts: z.optional(wholeNumber.check(z.minimum(2), z.maximum(mostParts))),
  dataset: text,
  kind: z.enum(['dataset', 'file']),
  key_fingerprint: text,
  complete: z.boolean(),
  // The names of files become local paths, so any other than an outbox name is refused.
  files: z.array(delivered).check(z.maxLength(filesPerReceipt)),
  missing: z.array(missed).check(z.maxLength(filesPerReceipt)),
});

/** The payload of a receipt, member by member. Unknown members are ignored. @throws ReceiptError if it is none */
export function parseReceipt(payload: string): DeliveryReceipt {
  const { data, error } = receipt.safeParse(parseJson(payload));
  if (error) {
    const where = error.issues[0]?.path ?? [];
    throw malformed(where.length === 0 ? 'it is not a JSON object' : `it has no usable ${where.map(String).join('.')}`);
  }
  const { part = 1, parts = 1 } = data;
  if ('part' in data !== 'parts' in data || part > parts) throw malformed('it is not one of its parts');
  return data as DeliveryReceipt;
}

function malformed(what: string): ReceiptError {
  return new ReceiptError(`this is not a delivery receipt: ${what}`);
}
