import type { Clock } from '../../archive/ports.ts';
import { ForbiddenError, NotFoundError } from '../../errors.ts';
import { type HttpReply, jsonReply } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import type { ExportRequests } from '../ports.ts';
import { parseExportRequest } from './export-body.ts';

/** What `POST /export/{archive_kind}` needs. */
export interface ExportEndpoint {
  /** The one kind this deployment answers to. */
  readonly archiveKind: string;
  readonly requests: ExportRequests;
  /** A fresh UUID: names this export in message, log, audit row and object metadata. */
  readonly newRequestId: () => string;
  readonly clock: Clock;
}

/**
 * `POST /export/{archive_kind}`, behind the authorizer: one message published, then 200. The visa is passed on as it came;
 * whether it is any good is found out by the consumer.
 * @throws ForbiddenError unless the authorizer says that the caller has the role ADMIN.
 * @throws InvalidRequestError, NotFoundError, TemporarilyUnavailableError; with any of them nothing was published.
 */
export async function requestExport(
  request: HttpRequest,
  { archiveKind, requests, newRequestId, clock }: ExportEndpoint,
): Promise<{ reply: HttpReply; exportRequestId: string }> {
  if (request.authorizer.isAdministrator !== 'true') throw new ForbiddenError('This takes the role ADMIN.');
  // The gateway knows this one path only; a deployment that lets others through must not change that.
  if (request.path.split('/').at(-1) !== archiveKind) throw new NotFoundError('there is no such archive kind');
  const message = parseExportRequest(request);
  const exportRequestId = newRequestId();
  await requests.publish({ requestId: exportRequestId, requestedAt: clock(), archiveKind, message });
  const reply = jsonReply(request.requestId, {
    message: 'The export request was accepted. What it stages will be listed by GET /files?inbox=false.',
    requestId: exportRequestId,
  });
  return { reply, exportRequestId };
}
