import { type ContainerDependencies, containerOf, headerAlone } from '../../direct/container.ts';
import type { HttpReply, ReplyBody } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import { type EntitledFileEndpoint, entitledFileReply } from './entitled-file.ts';
import { requiredRecipientKey } from './recipient-key.ts';
import { representationReply } from './representation-reply.ts';

/** What `GET|HEAD /files/{fileId}/header` needs. */
export interface HeaderEndpoint extends EntitledFileEndpoint, ContainerDependencies {}

/**
 * `GET|HEAD /files/{fileId}/header`: the Crypt4GH header alone, for the key in one of the key headers. The content of the
 * same file behind it makes a container.
 *
 * @throws UnauthenticatedError, InvalidRequestError, ForbiddenError, RangeNotSatisfiableError, PreconditionFailedError,
 * ArchiveDamagedError, TemporarilyUnavailableError
 */
export function serveHeader(request: HttpRequest, endpoint: HeaderEndpoint): Promise<HttpReply<ReplyBody>> {
  const parts = () => ({ kind: 'header' as const, recipient: requiredRecipientKey(request) });
  return entitledFileReply(request, endpoint, parts, async (file, { recipient }, ended) =>
    representationReply(request, headerAlone(await containerOf(file, recipient, endpoint)), ended),
  );
}
