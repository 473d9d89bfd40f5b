import { namingFile } from '../../archive/naming-file.ts';
import type { ArchivedFile } from '../../archive/ports.ts';
import { entitledFile, grantsOf } from '../../direct/access.ts';
import { archivedBodyOf } from '../../direct/archived-body.ts';
import { containerOf, headerAlone } from '../../direct/container.ts';
import type { DirectUrls } from '../../direct/ports.ts';
import { bearerToken } from '../../http/authorization.ts';
import { notModified } from '../../http/conditions.ts';
import { locationReply, redirectWanted } from '../../http/redirect.ts';
import type { HttpReply, ReplyBody } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import { pathIdentifier } from '../path-identifier.ts';
import { type Delivery, serve } from './deliver.ts';
import { requiredRecipientKey } from './recipient-key.ts';
import type { FileEndpoint, ServedFile } from './serve-file.ts';

/** What the two halves of a container need. */
export interface SplitEndpoint
  extends Pick<FileEndpoint, 'rules' | 'catalogue' | 'archive' | 'archiveKeys' | 'served'> {
  readonly urls: Pick<DirectUrls, 'body'>;
}

/**
 * `GET|HEAD /files/{fileId}/header`: the Crypt4GH header for the key in one of the key headers, alone. Followed by the
 * content of the same file it is a container.
 *
 * @throws UnauthenticatedError, InvalidRequestError, ForbiddenError, RangeNotSatisfiableError, PreconditionFailedError,
 * ArchiveDamagedError, TemporarilyUnavailableError
 */
export function serveHeader(request: HttpRequest, endpoint: SplitEndpoint): Promise<HttpReply<ReplyBody>> {
  return half('header', request, endpoint, requiredRecipientKey, async (file, recipient, ended) =>
    serve(request, headerAlone(await containerOf(file, recipient, endpoint)), ended),
  );
}

/**
 * `GET|HEAD /files/{fileId}/content[?redirect=false]`: the archived body, unchanged, from S3 by a presigned URL. The same
 * for every reader, so no key is needed; one that is sent for the other half is not looked at.
 *
 * @throws UnauthenticatedError, InvalidRequestError, ForbiddenError, PreconditionFailedError, ArchiveDamagedError,
 * TemporarilyUnavailableError
 */
export function serveContent(request: HttpRequest, endpoint: SplitEndpoint): Promise<HttpReply<ReplyBody>> {
  return half('content', request, endpoint, redirectWanted, async (file, redirect, ended) => {
    const body = await archivedBodyOf(file, endpoint);
    // A URL that is signed for GET does not serve HEAD.
    if (request.method === 'HEAD') return serve(request, body, ended);
    const { size, etag } = body;
    const unchanged = notModified(request, body);
    const reply = unchanged ?? locationReply(request.requestId, { ...(await body.url()), size, etag }, redirect);
    ended({ status: reply.status, bytes: unchanged ? 0 : size, complete: true });
    return reply;
  });
}

async function half<Wanted>(
  kind: ServedFile['kind'],
  request: HttpRequest,
  { rules, catalogue, served }: SplitEndpoint,
  wantedOf: (request: HttpRequest) => Wanted,
  reply: (file: ArchivedFile, wanted: Wanted, ended: (delivery: Delivery) => void) => Promise<HttpReply<ReplyBody>>,
): Promise<HttpReply<ReplyBody>> {
  const grants = await grantsOf(bearerToken(request), rules);
  const wanted = wantedOf(request);
  const file = await entitledFile(pathIdentifier(request, 'fileId'), grants, catalogue);
  const { requestId } = request;
  const { fileId, datasetId } = file;
  return namingFile(fileId, () =>
    reply(file, wanted, (delivery) => served({ requestId, fileId, datasetId, kind, ...delivery })),
  );
}
