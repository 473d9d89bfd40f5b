import type { Archive } from '../../archive/ports.ts';
import { archivedBodyOf } from '../../direct/archived-body.ts';
import type { DirectUrls } from '../../direct/ports.ts';
import { notModified } from '../../http/conditions.ts';
import { locationReply, redirectWanted } from '../../http/redirect.ts';
import type { HttpReply, ReplyBody } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import { type EntitledFileEndpoint, entitledFileReply } from './entitled-file.ts';
import { representationReply } from './representation-reply.ts';

/** What `GET|HEAD /files/{fileId}/content` needs. */
export interface ContentEndpoint extends EntitledFileEndpoint {
  readonly archive: Archive;
  readonly urls: Pick<DirectUrls, 'body'>;
}

/**
 * `GET|HEAD /files/{fileId}/content[?redirect=false]`: the archived body, unchanged, from S3 by a presigned URL. It is the
 * same for every reader, so it takes no key. A key that clients send for the header is ignored.
 *
 * @throws UnauthenticatedError, InvalidRequestError, ForbiddenError, PreconditionFailedError, ArchiveDamagedError,
 * TemporarilyUnavailableError
 */
export function serveContent(request: HttpRequest, endpoint: ContentEndpoint): Promise<HttpReply<ReplyBody>> {
  const parts = () => ({ kind: 'content' as const, redirect: redirectWanted(request) });
  return entitledFileReply(request, endpoint, parts, async (file, { redirect }, ended) => {
    const body = await archivedBodyOf(file, endpoint);
    // A URL that is signed for GET does not serve HEAD.
    if (request.method === 'HEAD') return representationReply(request, body, ended);
    const { size, etag } = body;
    const unchanged = notModified(request, body);
    const reply = unchanged ?? locationReply(request.requestId, { ...(await body.url()), size, etag }, redirect);
    ended({ status: reply.status, bytes: 0, promised: unchanged ? 0 : size });
    return reply;
  });
}
