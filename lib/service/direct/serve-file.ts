import { bodySource } from '../archive/archived-file.ts';
import type { Archive, ArchiveKeys, Catalogue, OpenableArchive } from '../archive/ports.ts';
import { outboxFileName } from '../containers/container-name.ts';
import { notModified } from '../http/conditions.ts';
import { type HttpReply, locationReply, type ReplyBody, redirectWanted } from '../http/reply.ts';
import { type HttpRequest, readAll } from '../http/request.ts';
import { type EntitledFileEndpoint, entitledFileReply, type ServedFile } from './access.ts';
import { type AssemblyDependencies, assembled } from './assembled.ts';
import { bodyBytes, containerOf, containerPart, headerAlone, isForAssembly } from './container.ts';
import { requestedCoordinates, requestedRecipient, requiredRecipientKey } from './file-request.ts';
import { between, plaintextOf } from './plaintext.ts';
import type { DirectUrls } from './ports.ts';
import { representationReply } from './representation.ts';

export interface FileEndpoint extends EntitledFileEndpoint, AssemblyDependencies {
  readonly catalogue: Pick<Catalogue, 'evaluateAccess' | 'isReleased' | 'findReleasedFile'>;
  readonly archiveKeys: ArchiveKeys;
}

/**
 * `GET|HEAD /files/{fileId}[?destinationFormat=CRYPT4GH][&startCoordinate=&endCoordinate=][&redirect=false]`: the
 * plaintext, or a container for the key in a header; all of it or the bytes between the coordinates. A container too large
 * to be streamed is made inside S3, and GET is answered with 307 to it.
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
      ? await containerPart(file, recipient, coordinates, endpoint)
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
  const parts = readAll({
    recipient: () => requestedRecipient(request),
    coordinates: () => requestedCoordinates(request),
    redirect: () => redirectWanted(request),
  });
  const kind: ServedFile['kind'] = parts.recipient ? 'container' : 'plaintext';
  return { kind, ...parts };
}

export interface HeaderEndpoint extends EntitledFileEndpoint, OpenableArchive {}

/**
 * `GET|HEAD /files/{fileId}/header`: the Crypt4GH header alone, for the key in one of the key headers. The content of the
 * same file behind it makes a container.
 */
export function serveHeader(request: HttpRequest, endpoint: HeaderEndpoint): Promise<HttpReply<ReplyBody>> {
  const parts = () => ({ kind: 'header' as const, recipient: requiredRecipientKey(request) });
  return entitledFileReply(request, endpoint, parts, async (file, { recipient }, ended) =>
    representationReply(request, headerAlone(await containerOf(file, recipient, endpoint)), ended),
  );
}

export interface ContentEndpoint extends EntitledFileEndpoint {
  readonly archive: Archive;
  readonly urls: Pick<DirectUrls, 'body'>;
}

/**
 * `GET|HEAD /files/{fileId}/content[?redirect=false]`: the archived body, unchanged, from S3 by a presigned URL. It is the
 * same for every reader, so it takes no key. A key that clients send for the header is ignored.
 */
export function serveContent(request: HttpRequest, endpoint: ContentEndpoint): Promise<HttpReply<ReplyBody>> {
  const parts = () => ({ kind: 'content' as const, redirect: redirectWanted(request) });
  return entitledFileReply(request, endpoint, parts, async (file, { redirect }, ended) => {
    const { archive, urls } = endpoint;
    const source = await bodySource(file, archive);
    const { address, bodySize: size, archiveEtag: etag } = source;
    const fileName = outboxFileName(file.fileId, file.submissionFilePath).replace(/\.c4gh$/, '.body');
    // A URL that is signed for GET does not serve HEAD.
    if (request.method === 'HEAD') {
      const stream = (start: number, end: number) => bodyBytes(archive, source, [{ start, end }]);
      const body = { size, etag, mediaType: 'application/octet-stream', fileName, stream };
      return representationReply(request, body, ended);
    }
    const unchanged = notModified(request, { size, etag });
    const reply =
      unchanged ?? locationReply(request.requestId, { ...(await urls.body(address, fileName)), size, etag }, redirect);
    ended({ status: reply.status, bytes: 0, promised: unchanged ? 0 : size });
    return reply;
  });
}
