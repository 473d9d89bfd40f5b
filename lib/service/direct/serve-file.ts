import { InvalidRequestError, type Violation } from '../../errors.ts';
import type { ArchivedFile, ArchiveKeys, Catalogue } from '../archive/ports.ts';
import { notModified } from '../http/conditions.ts';
import { type HttpReply, locationReply, type ReplyBody, redirectWanted } from '../http/reply.ts';
import { collected, type HttpRequest } from '../http/request.ts';
import { type EntitledFileEndpoint, entitledFileReply } from './access.ts';
import { type AssemblyDependencies, assembled } from './assembled.ts';
import { type Coordinates, containerOf, isForAssembly, partOf } from './container.ts';
import { requestedCoordinates, requestedRecipient } from './file-request.ts';
import { between, plaintextOf } from './plaintext.ts';
import { type ReplyOutcome, representationReply } from './representation.ts';

/** What `GET|HEAD /files/{fileId}` needs. */
export interface FileEndpoint extends EntitledFileEndpoint, AssemblyDependencies {
  readonly catalogue: Pick<Catalogue, 'evaluateAccess' | 'isReleased' | 'findReleasedFile'>;
  readonly archiveKeys: ArchiveKeys;
}

interface Parts {
  readonly kind: 'plaintext' | 'container';
  /** Raw public key of the container's reader; `undefined`: plaintext. */
  readonly recipient: Uint8Array | undefined;
  readonly coordinates: Coordinates | undefined;
  readonly redirect: boolean;
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
    if (recipient) {
      const wanted = { recipient, coordinates, redirect };
      return serveContainer(request, wanted, file, endpoint, invocation, ended);
    }
    const whole = await plaintextOf(file, endpoint);
    return representationReply(request, coordinates ? between(coordinates, whole) : whole, ended);
  });
}

async function serveContainer(
  request: HttpRequest,
  wanted: Pick<Parts, 'coordinates' | 'redirect'> & { readonly recipient: Uint8Array },
  file: ArchivedFile,
  endpoint: FileEndpoint,
  { remainingMs }: { readonly remainingMs: () => number },
  ended: (outcome: ReplyOutcome) => void,
): Promise<HttpReply<ReplyBody>> {
  const { recipient, coordinates, redirect } = wanted;
  const container = coordinates
    ? await partOf(file, recipient, coordinates, endpoint)
    : await containerOf(file, recipient, endpoint);
  if (request.method === 'HEAD' || !isForAssembly(container)) return representationReply(request, container, ended);
  const { requestId } = request;
  const reply =
    notModified(request, container) ??
    locationReply(
      requestId,
      { ...(await assembled(container, endpoint, { requestId, remainingMs })), size: container.size },
      redirect,
    );
  ended({ status: reply.status, bytes: 0, promised: reply.status === 304 ? 0 : container.size });
  return reply;
}

function partsOf(request: HttpRequest): Parts {
  const violations: Violation[] = [];
  const recipient = collected(violations, () => requestedRecipient(request));
  const coordinates = collected(violations, () => requestedCoordinates(request));
  const redirect = collected(violations, () => redirectWanted(request));
  if (violations.length > 0 || redirect === undefined) throw new InvalidRequestError(violations);
  return { kind: recipient ? 'container' : 'plaintext', recipient, coordinates, redirect };
}
