import { InvalidRequestError, type Violation } from '../../errors.ts';
import type { ArchiveKeys, Catalogue } from '../archive/ports.ts';
import { notModified } from '../http/conditions.ts';
import { type HttpReply, locationReply, type ReplyBody, redirectWanted } from '../http/reply.ts';
import { collected, type HttpRequest } from '../http/request.ts';
import { type EntitledFileEndpoint, entitledFileReply, type ServedFile } from './access.ts';
import { type AssemblyDependencies, assembled } from './assembled.ts';
import { containerOf, isForAssembly, partOf } from './container.ts';
import { requestedCoordinates, requestedRecipient } from './file-request.ts';
import { between, plaintextOf } from './plaintext.ts';
import { representationReply } from './representation.ts';

export interface FileEndpoint extends EntitledFileEndpoint, AssemblyDependencies {
  readonly catalogue: Pick<Catalogue, 'evaluateAccess' | 'isReleased' | 'findReleasedFile'>;
  readonly archiveKeys: ArchiveKeys;
}

/**
 * `GET|HEAD /files/{fileId}[?destinationFormat=CRYPT4GH][&startCoordinate=&endCoordinate=][&redirect=false]`: the
 * plaintext, or a container for the key in a header; all of it or the bytes between the coordinates. A container too large
 * to be streamed is made inside S3, and GET is answered with 307 to it.
 *
 * @param invocation.remainingMs milliseconds until the invocation ends
 * @throws UnauthenticatedError, InvalidRequestError, ForbiddenError, RangeNotSatisfiableError, PreconditionFailedError,
 * ReplyTooLargeError, ArchiveDamagedError, TemporarilyUnavailableError
 */
export function serveFile(
  request: HttpRequest,
  endpoint: FileEndpoint,
  invocation: { readonly remainingMs: () => number },
): Promise<HttpReply<ReplyBody>> {
  return entitledFileReply(request, endpoint, partsOf, async (file, { recipient, coordinates, redirect }, ended) => {
    if (!recipient) {
      const whole = await plaintextOf(file, endpoint);
      return representationReply(request, coordinates ? between(coordinates, whole) : whole, ended);
    }
    const container = coordinates
      ? await partOf(file, recipient, coordinates, endpoint)
      : await containerOf(file, recipient, endpoint);
    if (request.method === 'HEAD' || !isForAssembly(container)) return representationReply(request, container, ended);
    const { requestId } = request;
    const { size } = container;
    const location = () => assembled(container, endpoint, { requestId, ...invocation });
    const reply =
      notModified(request, container) ?? locationReply(requestId, { ...(await location()), size }, redirect);
    ended({ status: reply.status, bytes: 0, promised: reply.status === 304 ? 0 : size });
    return reply;
  });
}

function partsOf(request: HttpRequest) {
  const violations: Violation[] = [];
  const recipient = collected(violations, () => requestedRecipient(request));
  const coordinates = collected(violations, () => requestedCoordinates(request));
  const redirect = collected(violations, () => redirectWanted(request));
  if (violations.length > 0 || redirect === undefined) throw new InvalidRequestError(violations);
  const kind: ServedFile['kind'] = recipient ? 'container' : 'plaintext';
  return { kind, recipient, coordinates, redirect };
}
