import type { ArchivedFile } from '../../archive/ports.ts';
import { visasIn } from '../../contract/unverified-token.ts';
import { accessRefused } from '../../direct/access-refused.ts';
import { displayFileName } from '../../direct/file-name.ts';
import { InvalidRequestError, NotFoundError, UnauthenticatedError } from '../../errors.ts';
import { type HttpReply, jsonReply } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import type { DatasetGrant, VisaRules } from '../../visas/index.ts';
import { verifiedToken } from '../verified-token.ts';
import { type DrsEndpoint, type GrantedObject, grantedObject } from './granted-object.ts';
import { type DrsAccessUrl, plaintextAccessId } from './model.ts';

/** Characters of a token in a header. API Gateway takes 10,240 bytes of headers; clients and proxies add others. */
const longestBearer = 8192;

/**
 * `GET|POST /ga4gh/drs/v1/objects/{object_id}/access/{access_id}`: the URL of the bytes, and the header that an HTTP client must
 * send with it. The reply repeats the caller's own token, and nothing that the caller does not have.
 *
 * @throws NotFoundError for another access id of an object that the caller may have. Others as `describeObject`
 */
export async function giveAccessUrl(request: HttpRequest, baseUrl: string, endpoint: DrsEndpoint): Promise<HttpReply> {
  const { rules, catalogue } = endpoint;
  const granted = await grantedObject(request, rules, catalogue);
  if (request.pathParameters.get('access_id') !== plaintextAccessId) {
    throw new NotFoundError(`the object has no such access method: its one access_id is ${plaintextAccessId}`);
  }
  const { fileId } = granted;
  const { token, datasetId } = await headerToken(granted, rules);
  const file = await catalogue.findReleasedFile({ fileId, datasetId });
  if (!file) throw accessRefused();
  const access: DrsAccessUrl = {
    url: [baseUrl, 'files', ...segmentsOf(file).map(encodeURIComponent)].join('/'),
    headers: [`Authorization: Bearer ${token}`],
  };
  endpoint.served({ requestId: request.requestId, fileId, datasetId, accessId: plaintextAccessId });
  return jsonReply(request.requestId, access);
}

/** With the name at the end, from which many clients read the type. Two names are those of other routes. */
function segmentsOf(file: ArchivedFile): readonly string[] {
  const name = displayFileName(file);
  return ['header', 'content'].includes(name) ? [file.fileId] : [file.fileId, name];
}

/**
 * A token that grants the object by itself and fits a header, and the dataset that gives access: one of the caller's tokens or,
 * where all are too long, a visa inside one of them. The caller already has that visa, and it grants less.
 *
 * @throws InvalidRequestError when no visa by itself grants the object
 */
async function headerToken(
  { entitlements, fromHeader }: GrantedObject,
  rules: VisaRules,
): Promise<{ readonly token: string; readonly datasetId: string }> {
  const granting = entitlements.flatMap(({ datasetId, grants }) =>
    grants.map(({ token, datasetId: id }) => ({ token, id, datasetId })),
  );
  const whole = granting.find(({ token }) => fromHeader || token.length <= longestBearer);
  if (whole) return whole;
  // These ids name the object's datasets. A visa inside the tokens that grants the object has one of them.
  const datasets = new Map(granting.map(({ id, datasetId }) => [id, datasetId]));
  for (const passport of new Set(granting.map(({ token }) => token))) {
    for (const visa of visasIn(passport) ?? []) {
      const grants = visa.length <= longestBearer ? await grantsOrNone(visa, rules) : [];
      for (const { datasetId: id } of grants) {
        const datasetId = datasets.get(id);
        if (datasetId !== undefined) return { token: visa, datasetId };
      }
    }
  }
  const message = `is longer than ${longestBearer} characters, which do not fit a header, and no visa in it grants this by itself: send a shorter passport`;
  throw new InvalidRequestError([{ field: 'passports', message }]);
}

async function grantsOrNone(visa: string, rules: VisaRules): Promise<readonly DatasetGrant[]> {
  try {
    return (await verifiedToken(visa, rules)).grants;
  } catch (error) {
    if (error instanceof UnauthenticatedError) return [];
    throw error;
  }
}
