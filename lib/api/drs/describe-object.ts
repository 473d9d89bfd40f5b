import type { FileDescription } from '../../contract/describe-file.ts';
import type { Checksum } from '../../direct/ports.ts';
import { NotFoundError } from '../../errors.ts';
import { type HttpReply, jsonReply } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import { authorizationsFor } from './authorizations.ts';
import { type DrsEndpoint, grantedObject } from './granted-object.ts';
import { type DrsChecksum, type DrsObject, plaintextAccessId } from './model.ts';

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
    throw new NotFoundError('bulk requests are not served: ask for each object by its own path');
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
 * The checksums that ingestion computed over the served plaintext. DRS wants at least one. Without any, it is the entity tag
 * of the served bytes, which the file's reply repeats as `ETag`: a digest would take reading and decrypting the whole file.
 */
function checksumsOf({ checksums, etag }: FileDescription): readonly DrsChecksum[] {
  if (checksums.length === 0) return [{ type: 'etag', checksum: etag.replaceAll('"', '') }];
  return checksums.map(({ type, value }) => ({ type: checksumNames[type], checksum: value }));
}

function portableName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/g, '_');
}
