import type { Clock } from '../../archive/ports.ts';
import { ForbiddenError, NotFoundError } from '../../errors.ts';
import { type HttpReply, jsonReply } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import type { ExportRequests } from '../ports.ts';
import { exportMessageOf } from './export-body.ts';

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
 * `POST /export/{archive_kind}`, behind the authorizer: one message published, then 200. The visa goes on as it came: the
 * consumer verifies it.
 * @throws ForbiddenError unless the authorizer says that the caller has the role ADMIN.
 * @throws InvalidRequestError, NotFoundError, TemporarilyUnavailableError. After an error nothing was published.
 */
export async function requestExport(
  request: HttpRequest,
  { archiveKind, requests, newRequestId, clock }: ExportEndpoint,
): Promise<{ reply: HttpReply; exportRequestId: string }> {
  if (request.authorizer.isAdministrator !== 'true')
    throw new ForbiddenError('This takes the role ADMIN. Use an account that has it.');
  // The gateway has this one path. A deployment that lets others through must still refuse them.
  if (request.path.split('/').at(-1) !== archiveKind)
    throw new NotFoundError(`there is no such archive kind: export to /export/${archiveKind}`);
  const message = exportMessageOf(request);
  const exportRequestId = newRequestId();
  await requests.publish({ requestId: exportRequestId, requestedAt: clock(), archiveKind, message });
  const reply = jsonReply(request.requestId, {
    message: 'The export request was accepted. What it stages will be listed by GET /files?inbox=false.',
    requestId: exportRequestId,
  });
  return { reply, exportRequestId };
}
