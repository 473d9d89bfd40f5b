import type { Catalogue, FileReference } from '../../archive/ports.ts';
import type { FileDescription } from '../../contract/describe-file.ts';
import type { Checksum, FileDescriptions } from '../../direct/ports.ts';
import { NotFoundError } from '../../errors.ts';
import { type HttpReply, jsonReply } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import type { VisaRules } from '../../visas/index.ts';
import { authorizationsFor } from './authorizations.ts';
import { grantedObject, headerToken } from './caller.ts';
import { type DrsAccessUrl, type DrsChecksum, type DrsObject, plaintextAccessId } from './model.ts';

/** What the routes below `/ga4gh/drs/v1/objects/{object_id}` need. */
export interface DrsEndpoint {
  readonly rules: VisaRules;
  readonly catalogue: Pick<Catalogue, 'decide'>;
  readonly descriptions: FileDescriptions;
  /** Told of every object that was described or whose URL was given, before the reply goes out. */
  readonly served: (access: DrsAccess) => void;
}

/** Which object was given, for the log. */
export interface DrsAccess extends FileReference {
  readonly requestId: string;
  /** Absent: only the description. */
  readonly accessId?: string;
}

/** IANA Named Information names, and `md5`, which DRS names itself. */
const checksumNames: Readonly<Record<Checksum['type'], string>> = {
  MD5: 'md5',
  SHA256: 'sha-256',
  SHA384: 'sha-384',
  SHA512: 'sha-512',
};

/**
 * `GET|POST /ga4gh/drs/v1/objects/{object_id}`: the description of the plaintext.
 *
 * @param baseUrl of the API, without a slash at the end
 * @throws NotFoundError for `POST …/objects/access`, the bulk request of DRS, which is not served
 * @throws UnauthenticatedError, ForbiddenError, InvalidRequestError, ArchiveDamagedError, TemporarilyUnavailableError
 */
export async function describeObject(request: HttpRequest, baseUrl: string, endpoint: DrsEndpoint): Promise<HttpReply> {
  const { rules, catalogue, descriptions } = endpoint;
  // The path of the bulk request is that of an object with this id, so API Gateway cannot tell them apart.
  if (request.method === 'POST' && request.pathParameters.get('object_id') === 'access') {
    throw new NotFoundError('bulk requests are not served');
  }
  const {
    fileId,
    entitlements: [{ datasetId }],
  } = await grantedObject(request, rules, catalogue);
  const described = await descriptions.describe({ fileId, datasetId });
  const object: DrsObject = {
    id: fileId,
    name: portableName(described.fileName),
    self_uri: `drs://${new URL(baseUrl).hostname}/${encodeURIComponent(fileId)}`,
    size: described.size,
    created_time: described.createdAt,
    mime_type: described.mediaType,
    checksums: checksumsOf(described),
    access_methods: [
      { type: 'https', access_id: plaintextAccessId, authorizations: authorizationsFor(fileId, rules.issuers) },
    ],
  };
  endpoint.served({ requestId: request.requestId, fileId, datasetId });
  return jsonReply(request.requestId, object);
}

/**
 * `GET|POST /ga4gh/drs/v1/objects/{object_id}/access/{access_id}`: where the bytes are, with the header that any HTTP client must
 * send. The reply repeats the caller's own token and nothing that the caller does not have.
 *
 * @throws NotFoundError for another access id of an object that the caller may have. Others as {@link describeObject}
 */
export async function giveAccessUrl(request: HttpRequest, baseUrl: string, endpoint: DrsEndpoint): Promise<HttpReply> {
  const { rules, catalogue } = endpoint;
  const granted = await grantedObject(request, rules, catalogue);
  if (request.pathParameters.get('access_id') !== plaintextAccessId) {
    throw new NotFoundError('the object has no such access method');
  }
  const { fileId } = granted;
  const { token, datasetId } = await headerToken(granted, rules);
  const access: DrsAccessUrl = {
    url: `${baseUrl}/files/${encodeURIComponent(fileId)}`,
    headers: [`Authorization: Bearer ${token}`],
  };
  endpoint.served({ requestId: request.requestId, fileId, datasetId, accessId: plaintextAccessId });
  return jsonReply(request.requestId, access);
}

/**
 * What ingestion computed over the plaintext, where that is what is served. DRS wants at least one; where there is none, it
 * is the entity tag of the served bytes, which a client finds again as `ETag` of the file's reply. A digest would take
 * reading and decrypting the whole file.
 */
function checksumsOf({ checksums, etag }: FileDescription): readonly DrsChecksum[] {
  if (checksums.length === 0) return [{ type: 'etag', checksum: etag.replaceAll('"', '') }];
  return checksums.map(({ type, value }) => ({ type: checksumNames[type], checksum: value }));
}

function portableName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/g, '_');
}
