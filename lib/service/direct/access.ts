import { percentDecoded } from '../../common/percent.ts';
import { identifier } from '../../contract/messages.ts';
import { DataOutError } from '../../errors.ts';
import type { DatasetGrant, VisaRules } from '../../visas/index.ts';
import { nameDamagedFile } from '../archive/archived-file.ts';
import { type Entitlement, grantedAndReleased } from '../archive/entitlement.ts';
import type { ArchivedFile, Catalogue, RequestedData } from '../archive/ports.ts';
import { bearerToken, verifiedToken } from '../http/authorization.ts';
import type { HttpReply, ReplyBody } from '../http/reply.ts';
import type { HttpRequest } from '../http/request.ts';
import { isNameOf, type ReplyOutcome } from './representation.ts';

/**
 * The datasets through which the caller may have what is wanted now, in the order of their ids.
 *
 * @throws `forbidden`, the same for what is unknown, not released or not granted
 */
export async function entitlementsTo<Grant extends DatasetGrant>(
  wanted: RequestedData,
  grants: readonly Grant[],
  catalogue: Pick<Catalogue, 'evaluateAccess'>,
): Promise<readonly [Entitlement<Grant>, ...Entitlement<Grant>[]]> {
  const [first, ...others] = (await grantedAndReleased(catalogue, grants, wanted)).entitlements;
  if (!first) throw accessRefused();
  return [first, ...others];
}

/** The file, if the caller may have it now. The query that reads the header checks the release once more. */
export async function entitledFile(
  fileId: string,
  grants: readonly DatasetGrant[],
  catalogue: Pick<Catalogue, 'evaluateAccess' | 'findReleasedFile'>,
): Promise<ArchivedFile> {
  const [{ datasetId }] = await entitlementsTo({ fileId }, grants, catalogue);
  const file = await catalogue.findReleasedFile({ fileId, datasetId });
  if (!file) throw accessRefused();
  return file;
}

/** The one answer for what is unknown, not released or not granted: a caller must not learn which. */
export function accessRefused(): DataOutError {
  return new DataOutError(
    'forbidden',
    'No visa that was presented gives access to this. Present one for the dataset, once it is released.',
  );
}

/**
 * The identifier in a variable segment of the route, decoded once. A segment that the front door has decoded already, or that
 * is not percent-encoding, stays as it is.
 *
 * An id that no catalogue can hold is refused before the database is asked, and so earlier than others. That tells the
 * caller nothing: the rule is public, and depends on the id alone.
 *
 * @throws `forbidden` for an id that no catalogue can hold, the same as for an unknown one
 */
export function pathIdentifier(request: HttpRequest, name: string): string {
  const id = percentDecoded(request.pathParameters.get(name) ?? '');
  if (!identifier.safeParse(id).success) throw accessRefused();
  return id;
}

export interface EntitledFileEndpoint {
  readonly rules: VisaRules;
  readonly catalogue: Pick<Catalogue, 'evaluateAccess' | 'findReleasedFile'>;
  /** Called for every file that was handed over, when its reply has ended. */
  readonly served: (file: ServedFile) => void;
}

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
 * @throws `not_found` when the path has another name than the file's; what `reply` throws, damage with the id of the
 * file
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
  if (name !== undefined && ![name, percentDecoded(name)].some((one) => isNameOf(file, one))) {
    throw new DataOutError(
      'not_found',
      'the file has another name: ask for /files/{fileId} alone, or with its displayFileName',
    );
  }
  const { requestId } = request;
  const { kind } = parts;
  const { fileId, datasetId } = file;
  return nameDamagedFile(fileId, () =>
    reply(file, parts, (outcome) => served({ requestId, fileId, datasetId, kind, ...outcome })),
  );
}
