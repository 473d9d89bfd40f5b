import * as z from 'zod';
import { limits } from '../../contract/limits.ts';
import type { ExportRequestMessage } from '../../contract/messages.ts';
import { Crypt4ghError, formatPublicKey, parsePublicKey } from '../../crypt4gh/index.ts';
import { InvalidRequestError, type Violation } from '../../errors.ts';
import { jsonBody } from '../../http/json-body.ts';
import type { HttpRequest } from '../../http/request.ts';
import { unusablePublicKey } from '../recipient-public-key.ts';

/** SQS takes the characters of XML 1.0 only; JSON escapes the control characters, not these. */
const transportable = (text: string) => text.isWellFormed() && !/[\ufffe\uffff]/.test(text);

/**
 * Text of 1 to `max` characters. zod's own messages could repeat a value, so every message is given here. Not `min` and
 * `max`: they count the members of a list, too, and complain beside its being no text.
 */
const text = (max: number) =>
  z
    .string({ error: (issue) => (issue.input === undefined ? 'is missing' : 'must be a string') })
    .refine((value) => value !== '', 'must not be empty')
    .refine((value) => value.length <= max, `must not be longer than ${max} characters`)
    .refine(transportable, 'holds characters that are not allowed');

const publicKey = text(limits.exportBodyBytes).transform((value, context) => {
  try {
    // One form for every consumer: the Crypt4GH key file, which readers in the field take with and without newlines.
    return formatPublicKey(parsePublicKey(value));
  } catch (error) {
    if (!(error instanceof Crypt4ghError)) throw error;
    context.addIssue({ code: 'custom', message: unusablePublicKey });
    return z.NEVER;
  }
});

const exportBody = z.strictObject(
  {
    id: text(limits.identifierLength).refine(
      (value) => value === '' || (value.trim() !== '' && !/\p{Cc}/u.test(value)),
      'must not be blank or hold control characters',
    ),
    type: z
      .enum(['datasetId', 'fileId', 'DATASET_ID', 'FILE_ID'], {
        error: 'must be one of datasetId, fileId, DATASET_ID, FILE_ID',
      })
      .default('datasetId'),
    // Opaque here: neither decoded nor verified, because the data-out side verifies it.
    visaToken: text(limits.visaBytes),
    userPublicKey: publicKey,
  },
  { error: 'must be a JSON object' },
);

/**
 * The message an export request asks for. The recipient's key travels as Crypt4GH PEM, whatever form it came in.
 * @throws InvalidRequestError with every broken rule; it names fields and never repeats a value.
 */
export function parseExportRequest(request: HttpRequest): ExportRequestMessage {
  const parsed = exportBody.safeParse(jsonBody(request, limits.exportBodyBytes));
  if (!parsed.success) throw new InvalidRequestError(parsed.error.issues.flatMap(violationsOf));
  const { id, type, visaToken, userPublicKey } = parsed.data;
  const identifier = type === 'fileId' || type === 'FILE_ID' ? { fileId: id } : { datasetId: id };
  return { jwtToken: visaToken, publicKey: userPublicKey, ...identifier };
}

function violationsOf(issue: z.core.$ZodIssue): Violation[] {
  if (issue.code !== 'unrecognized_keys') return [{ field: issue.path.join('.') || 'body', message: issue.message }];
  return issue.keys.map((key) => ({ field: fieldNameOf(key), message: 'is not a known field' }));
}

/** A name of a field, unless it may be a value that went into the wrong place. */
function fieldNameOf(key: string): string {
  return /^[A-Za-z0-9_-]{1,40}$/.test(key) ? key : 'body';
}
