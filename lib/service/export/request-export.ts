import * as z from 'zod';
import { limits } from '../../contract/limits.ts';
import { type ExportRequestMessage, exportRequestMessage, identifier } from '../../contract/messages.ts';
import { formatPublicKey } from '../../crypt4gh/index.ts';
import { DataOutError, invalidRequest, type Violation } from '../../errors.ts';
import type { Clock } from '../archive/ports.ts';
import { requireAdministrator } from '../http/administrator.ts';
import { type HttpReply, jsonReply } from '../http/reply.ts';
import { explainUnusablePublicKey, type HttpRequest, jsonBody, usablePublicKey } from '../http/request.ts';
import type { ExportRequestsQueue } from '../stores/queues.ts';

export interface ExportEndpoint {
  /** The one kind this deployment answers to. */
  readonly archiveKind: string;
  readonly requests: ExportRequestsQueue;
  /** A fresh UUID: names this export in message, log, audit row and object metadata. */
  readonly newRequestId: () => string;
  readonly clock: Clock;
  readonly requested: (request: HttpRequest, published: { readonly requestId: string }) => void;
}

/** SQS takes the characters of XML 1.0 only. JSON escapes the control characters, but not these. */
const transportable = (text: string) => text.isWellFormed() && !/[\ufffe\uffff]/.test(text);
const untransportable = { error: 'holds U+FFFE, U+FFFF or half a surrogate pair: leave these out', abort: true };

const { jwtToken, publicKey } = exportRequestMessage.shape;

/** The body has the fields of the message under the names of the API, and the rules of the message besides its own. */
const exportBody = z.strictObject(
  {
    id: identifier
      .refine((value) => value.trim() !== '', { error: 'must not be blank', abort: true })
      .refine(transportable, untransportable),
    type: z
      .enum(['datasetId', 'fileId', 'DATASET_ID', 'FILE_ID'], {
        error: 'must be one of datasetId, fileId, DATASET_ID, FILE_ID',
      })
      .default('datasetId'),
    // Opaque here: neither decoded nor verified. The consumer verifies it.
    visaToken: jwtToken.refine(transportable, untransportable),
    userPublicKey: publicKey.refine(transportable, untransportable).transform((value, context) => {
      const key = usablePublicKey(value);
      // One form for every consumer: the Crypt4GH key file, which readers in the field take with and without newlines.
      if (key) return formatPublicKey(key);
      context.addIssue({ code: 'custom', message: explainUnusablePublicKey(value) });
      return z.NEVER;
    }),
  },
  { error: 'must be a JSON object' },
);

/**
 * `POST /export/{archive_kind}`, behind the authorizer: one message published, then 200. The visa is forwarded unchanged, because the
 * consumer verifies it. After an error nothing was published.
 */
export async function requestExport(
  request: HttpRequest,
  { archiveKind, requests, newRequestId, clock, requested }: ExportEndpoint,
): Promise<HttpReply> {
  requireAdministrator(request);
  // The gateway has this one path. A deployment that lets others through must still refuse them.
  if (request.path.split('/').at(-1) !== archiveKind)
    throw new DataOutError('not_found', `there is no such archive kind: export to /export/${archiveKind}`);
  const message = exportMessageOf(request);
  const requestId = newRequestId();
  await requests.publish({ requestId, requestedAt: clock(), archiveKind, message });
  requested(request, { requestId });
  return jsonReply(request.requestId, {
    message: 'The export request was accepted. What it stages will be listed by GET /files?inbox=false.',
    requestId,
  });
}

/**
 * The message that an export request asks for. The recipient's key travels as Crypt4GH PEM, in whatever form it came.
 * @throws `invalid_request` with every broken rule; it names fields and never repeats a value
 */
export function exportMessageOf(request: HttpRequest): ExportRequestMessage {
  const parsed = exportBody.safeParse(jsonBody(request, limits.exportBodyBytes));
  if (!parsed.success) throw invalidRequest(parsed.error.issues.flatMap(violationsOf));
  const { id, type, visaToken, userPublicKey } = parsed.data;
  const wanted = type === 'fileId' || type === 'FILE_ID' ? { fileId: id } : { datasetId: id };
  return { jwtToken: visaToken, publicKey: userPublicKey, ...wanted };
}

function violationsOf(issue: z.core.$ZodIssue): Violation[] {
  if (issue.code !== 'unrecognized_keys') return [{ field: issue.path.join('.') || 'body', message: issue.message }];
  // The name of an unknown field may be a value in the wrong place.
  const nameOf = (key: string) => (/^[A-Za-z0-9_-]{1,40}$/.test(key) ? key : 'body');
  return issue.keys.map((key) => ({ field: nameOf(key), message: 'is not a known field' }));
}
