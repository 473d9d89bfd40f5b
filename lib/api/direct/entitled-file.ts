import { namingFile } from '../../archive/naming-file.ts';
import type { ArchivedFile, Catalogue } from '../../archive/ports.ts';
import { entitledFile } from '../../direct/access.ts';
import { isNameOf } from '../../direct/file-name.ts';
import { NotFoundError } from '../../errors.ts';
import { bearerToken } from '../../http/authorization.ts';
import type { HttpReply, ReplyBody } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import type { VisaRules } from '../../visas/index.ts';
import { decodedSegment, pathIdentifier } from '../path-identifier.ts';
import { verifiedToken } from '../verified-token.ts';
import type { ReplyOutcome } from './representation-reply.ts';

/** What every route at and below `/files/{fileId}` needs. */
export interface EntitledFileEndpoint {
  readonly rules: VisaRules;
  readonly catalogue: Pick<Catalogue, 'decide' | 'findReleasedFile'>;
  /** Called for every file that was handed over, when its reply has ended. */
  readonly served: (file: ServedFile) => void;
}

/** Which file was handed over, and how that went. */
export interface ServedFile extends ReplyOutcome {
  readonly requestId: string;
  readonly fileId: string;
  readonly datasetId: string;
  readonly kind: 'plaintext' | 'container' | 'header' | 'content';
}

/**
 * The order of every route at and below `/files/{fileId}`: token, request, entitlement, reply.
 *
 * @param read the parts of the request that the route knows
 * @param reply calls `ended` once, when the reply has ended
 * @throws UnauthenticatedError, InvalidRequestError, ForbiddenError; NotFoundError when the path has another name than the
 * file's; what `reply` throws, damage with the id of the file
 */
export async function entitledFileReply<Parts extends { readonly kind: ServedFile['kind'] }>(
  request: HttpRequest,
  { rules, catalogue, served }: EntitledFileEndpoint,
  read: (request: HttpRequest) => Parts,
  reply: (file: ArchivedFile, parts: Parts, ended: (outcome: ReplyOutcome) => void) => Promise<HttpReply<ReplyBody>>,
): Promise<HttpReply<ReplyBody>> {
  const { grants } = await verifiedToken(bearerToken(request), rules);
  const parts = read(request);
  const file = await entitledFile(pathIdentifier(request, 'fileId'), grants, catalogue);
  const name = request.pathParameters.get('name');
  // A front door that has decoded the name leaves a percent sign that is the name's own.
  if (name !== undefined && ![name, decodedSegment(name)].some((one) => isNameOf(file, one))) {
    throw new NotFoundError('the file has another name: ask for /files/{fileId} alone, or with its displayFileName');
  }
  const { requestId } = request;
  const { kind } = parts;
  const { fileId, datasetId } = file;
  return namingFile(fileId, () =>
    reply(file, parts, (outcome) => served({ requestId, fileId, datasetId, kind, ...outcome })),
  );
}
