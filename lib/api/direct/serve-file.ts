import { namingFile } from '../../archive/naming-file.ts';
import type { ArchivedFile, ArchiveKeys, Catalogue } from '../../archive/ports.ts';
import { entitledFile, grantsOf } from '../../direct/access.ts';
import { type AssemblyDependencies, assembled } from '../../direct/assembled.ts';
import { containerOf, isForAssembly } from '../../direct/container.ts';
import { type Coordinates, partOf } from '../../direct/part.ts';
import { between, plaintextOf } from '../../direct/plaintext.ts';
import { InvalidRequestError, type Violation } from '../../errors.ts';
import { bearerToken } from '../../http/authorization.ts';
import { notModified } from '../../http/conditions.ts';
import { locationReply, redirectWanted } from '../../http/redirect.ts';
import type { HttpReply, ReplyBody } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import type { VisaRules } from '../../visas/index.ts';
import { pathIdentifier } from '../path-identifier.ts';
import { requestedCoordinates } from './coordinates.ts';
import { type Delivery, serve } from './deliver.ts';
import { requestedRecipient } from './recipient-key.ts';

/** What `GET|HEAD /files/{fileId}` needs. */
export interface FileEndpoint extends AssemblyDependencies {
  readonly rules: VisaRules;
  readonly catalogue: Pick<Catalogue, 'decide' | 'isReleased' | 'findReleasedFile'>;
  readonly archiveKeys: ArchiveKeys;
  /** Told of every file that was handed over, when its reply has ended. */
  readonly served: (file: ServedFile) => void;
}

/** Which file was handed over, and how that went. `bytes` of a redirection: what lies behind the URL. */
export interface ServedFile extends Delivery {
  readonly requestId: string;
  readonly fileId: string;
  readonly datasetId: string;
  readonly kind: 'plaintext' | 'container' | 'header' | 'content';
}

/** What a request asks for. */
interface Wanted {
  /** Raw public key to make a container for; `undefined`: plaintext. */
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
export async function serveFile(
  request: HttpRequest,
  endpoint: FileEndpoint,
  invocation: { readonly remainingMs: () => number },
): Promise<HttpReply<ReplyBody>> {
  const grants = await grantsOf(bearerToken(request), endpoint.rules);
  const wanted = wantedOf(request);
  const file = await entitledFile(pathIdentifier(request, 'fileId'), grants, endpoint.catalogue);
  const { recipient, coordinates } = wanted;
  const { fileId, datasetId } = file;
  const kind = recipient ? 'container' : 'plaintext';
  const ended = (delivery: Delivery) =>
    endpoint.served({ requestId: request.requestId, fileId, datasetId, kind, ...delivery });
  return namingFile(fileId, async () => {
    if (recipient) return serveContainer(request, { ...wanted, recipient }, file, endpoint, invocation, ended);
    const whole = await plaintextOf(file, endpoint);
    return serve(request, coordinates ? between(coordinates, whole) : whole, ended);
  });
}

async function serveContainer(
  request: HttpRequest,
  { recipient, coordinates, redirect }: Wanted & { readonly recipient: Uint8Array },
  file: ArchivedFile,
  endpoint: FileEndpoint,
  { remainingMs }: { readonly remainingMs: () => number },
  ended: (delivery: Delivery) => void,
): Promise<HttpReply<ReplyBody>> {
  const container = coordinates
    ? await partOf(file, recipient, coordinates, endpoint)
    : await containerOf(file, recipient, endpoint);
  if (request.method === 'HEAD' || !isForAssembly(container)) return serve(request, container, ended);
  const { requestId } = request;
  const reply =
    notModified(request, container) ??
    locationReply(
      requestId,
      { ...(await assembled(container, endpoint, { requestId, remainingMs })), size: container.size },
      redirect,
    );
  ended({ status: reply.status, bytes: reply.status === 304 ? 0 : container.size, complete: true });
  return reply;
}

/** @throws InvalidRequestError with every broken rule */
function wantedOf(request: HttpRequest): Wanted {
  const violations: Violation[] = [];
  const read = <T>(parse: (request: HttpRequest) => T): T | undefined => {
    try {
      return parse(request);
    } catch (error) {
      if (!(error instanceof InvalidRequestError)) throw error;
      violations.push(...error.violations);
      return undefined;
    }
  };
  const recipient = read(requestedRecipient);
  const coordinates = read(requestedCoordinates);
  const redirect = read(redirectWanted);
  if (violations.length > 0 || redirect === undefined) throw new InvalidRequestError(violations);
  return { recipient, coordinates, redirect };
}
