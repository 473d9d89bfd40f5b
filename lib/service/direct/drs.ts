import * as z from 'zod';
import { visasIn } from '../../common/untrusted-json.ts';
import { limits } from '../../contract/limits.ts';
import { DataOutError, invalidRequest, isError } from '../../errors.ts';
import { datatypeOf } from '../../regions/htsget/names.ts';
import type { DatasetGrant, TrustedIssuers, VisaRules } from '../../visas/index.ts';
import { nameDamagedFile } from '../archive/archived-file.ts';
import type { Entitlement } from '../archive/entitlement.ts';
import type { ArchivedFile, Catalogue, FileReference } from '../archive/ports.ts';
import { bearerToken, verifiedToken } from '../http/authorization.ts';
import type { Problem } from '../http/problem.ts';
import { type HttpReply, jsonReply } from '../http/reply.ts';
import { type HttpRequest, jsonBody } from '../http/request.ts';
import { accessRefused, entitlementsTo, pathIdentifier } from './access.ts';
import { describePlaintext } from './describe-plaintext.ts';
import type { Checksum, DirectCatalogue } from './ports.ts';
import { displayFileName, plaintextMediaType, plaintextTag } from './representation.ts';

/** The ways to the bytes, all through this service: the plaintext, and tickets for regions of it. */
const accessIds = { plaintext: 'plaintext', htsget: 'htsget' };

export interface DrsEndpoint {
  readonly rules: VisaRules;
  readonly catalogue: Pick<DirectCatalogue, 'evaluateAccess' | 'findReleasedFile' | 'factsOf'>;
  /** Called for every object that was described or whose URL was given, before the reply goes out. */
  readonly served: (access: DrsAccess) => void;
}

export interface DrsAccess extends FileReference {
  readonly requestId: string;
  /** Absent: only the description. */
  readonly accessId?: string;
}

interface CallersGrant extends DatasetGrant {
  readonly token: string;
}

interface GrantedObject {
  readonly fileId: string;
  /** Whether the token came in a header. Then it fits into one again. */
  readonly fromHeader: boolean;
  /** The datasets that give access, in the order of their ids, and the tokens that grant them. */
  readonly entitlements: readonly [Entitlement<CallersGrant>, ...Entitlement<CallersGrant>[]];
}

/**
 * The object of the path, if the tokens grant it: the Bearer token of a GET, the passports in the body of a POST. The grants
 * of all tokens count together. A refused token does not harm the others.
 *
 * @throws `unauthenticated` when every token is refused; `forbidden`, the same for an object that is unknown, not
 * released or not granted
 */
async function grantedObject(
  request: HttpRequest,
  rules: VisaRules,
  catalogue: Pick<Catalogue, 'evaluateAccess'>,
): Promise<GrantedObject> {
  const fromHeader = request.method !== 'POST';
  const tokens = fromHeader ? [bearerToken(request)] : parsePassports(request);
  const grants = await grantsOfAny(new Set(tokens), rules);
  const fileId = pathIdentifier(request, 'object_id');
  return { fileId, fromHeader, entitlements: await entitlementsTo({ fileId }, grants, catalogue) };
}

async function grantsOfAny(tokens: ReadonlySet<string>, rules: VisaRules): Promise<readonly CallersGrant[]> {
  const grants: CallersGrant[] = [];
  const refusals: DataOutError[] = [];
  for (const token of tokens) {
    grants.push(...(await grantsOf(token, rules, (refusal) => refusals.push(refusal))));
  }
  if (refusals.length === tokens.size) throw refusals.at(-1);
  return grants;
}

/** What a token grants; nothing if it is refused. */
async function grantsOf(
  token: string,
  rules: VisaRules,
  refused?: (refusal: DataOutError) => void,
): Promise<readonly CallersGrant[]> {
  try {
    return (await verifiedToken(token, rules)).grants.map((grant) => ({ ...grant, token }));
  } catch (error) {
    if (!isError(error, 'unauthenticated')) throw error;
    refused?.(error);
    return [];
  }
}

/** Room for the passports, and for their names and quotes: 2.6 MB, of the 6 MB that AWS Lambda takes. */
const maxBodyBytes = limits.passportsPerRequest * (limits.passportBytes + 16) + 1024;

/** Other members are ignored: `expand` is about bundles, and there are none here. */
const body = z.object(
  {
    passports: z
      .array(z.string({ error: 'must be a string' }), { error: 'must be a list of passports' })
      .max(limits.passportsPerRequest, { error: `must not have more than ${limits.passportsPerRequest} entries` })
      .default([]),
    object: z.undefined({ error: 'is not taken: objects cannot be registered here' }).optional(),
  },
  { error: 'must be a JSON object' },
);

/**
 * The passports of a POST. Nothing in them is verified; their visas are counted.
 * @throws `invalid_request` with every broken rule; it never repeats a value
 */
function parsePassports(request: HttpRequest): readonly string[] {
  const parsed = body.safeParse(jsonBody(request, maxBodyBytes));
  if (!parsed.success) {
    throw invalidRequest(
      parsed.error.issues.map(({ path, message }) => ({ field: path.join('.') || 'body', message })),
    );
  }
  const { passports } = parsed.data;
  if (passports.length === 0)
    throw new DataOutError('unauthenticated', 'a passport is missing: send it in the member passports');
  // Before any signature is checked.
  const visas = passports.reduce((sum, passport) => sum + (visasIn(passport)?.length ?? 0), 0);
  if (visas > limits.visasPerRequest) {
    const message = `must not hold more than ${limits.visasPerRequest} visas in all`;
    throw invalidRequest([{ field: 'passports', message }]);
  }
  return passports;
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
 * @throws `not_found` for `POST …/objects/access`, the bulk request of DRS, which is not served
 */
export async function describeObject(request: HttpRequest, baseUrl: string, endpoint: DrsEndpoint): Promise<HttpReply> {
  const { rules, catalogue } = endpoint;
  // The path of the bulk request is that of an object with this id, so API Gateway cannot tell them apart.
  if (request.method === 'POST' && request.pathParameters.get('object_id') === 'access') {
    throw new DataOutError('not_found', 'bulk requests are not served: ask for each object by its own path');
  }
  const {
    fileId,
    entitlements: [{ datasetId }],
  } = await grantedObject(request, rules, catalogue);
  const [file, facts] = await Promise.all([
    catalogue.findReleasedFile({ fileId, datasetId }),
    catalogue.factsOf(fileId),
  ]);
  if (!file || !facts) throw accessRefused();
  const { size, checksums, createdAt } = await nameDamagedFile(fileId, async () => describePlaintext(file, facts));
  const fileName = displayFileName(file);
  const authorizations = authorizationsFor(fileId, rules.issuers);
  const object = {
    id: fileId,
    name: portableName(fileName),
    // Hostname-based: names neither port nor path.
    self_uri: `drs://${new URL(baseUrl).hostname}/${encodeURIComponent(fileId)}`,
    size,
    created_time: createdAt.toISOString(),
    mime_type: plaintextMediaType,
    checksums: checksumsOf(checksums, plaintextTag(file)),
    access_methods: [
      { type: 'https', access_id: accessIds.plaintext, authorizations },
      ...htsgetUrls(file, baseUrl).map((url) => ({
        type: 'htsget',
        access_id: accessIds.htsget,
        access_url: { url },
        authorizations,
      })),
    ],
  };
  endpoint.served({ requestId: request.requestId, fileId, datasetId });
  return jsonReply(request.requestId, object);
}

/**
 * The checksums that ingestion computed over the served plaintext. DRS wants at least one. Without any, it is the entity tag
 * of the served bytes, which the file's reply repeats as `ETag`: a digest would take reading and decrypting the whole file.
 */
function checksumsOf(checksums: readonly Checksum[], etag: string) {
  if (checksums.length === 0) return [{ type: 'etag', checksum: etag.replaceAll('"', '') }];
  return checksums.map(({ type, value }) => ({ type: checksumNames[type], checksum: value }));
}

/** The URL of tickets for regions, if the file has reads or variants. */
function htsgetUrls(file: ArchivedFile, baseUrl: string): readonly string[] {
  const datatype = datatypeOf(displayFileName(file));
  return datatype ? [[baseUrl, 'htsget', datatype, encodeURIComponent(file.fileId)].join('/')] : [];
}

function portableName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/g, '_');
}

/** How to ask for an object and for its access URL. It is the same for every object. */
function authorizationsFor(objectId: string, issuers: TrustedIssuers) {
  const all = [...issuers.values()];
  return {
    drs_object_id: objectId,
    supported_types: ['BearerAuth', 'PassportAuth'],
    // `iss` of visas that count here.
    passport_auth_issuers: all.filter((issuer) => issuer.issues.has('visas')).map(({ iss }) => iss),
    // `iss` of tokens that are taken as Bearer: visas, and passports around them.
    bearer_auth_issuers: all.map(({ iss }) => iss),
  };
}

/**
 * `OPTIONS /ga4gh/drs/v1/objects/{object_id}`, without credentials. The catalogue is not asked, so the reply does not tell
 * whether there is such an object.
 *
 * @throws `not_found` for an id that no catalogue can hold: DRS has no 403 for a request without credentials
 */
export function objectAuthorizations(request: HttpRequest, issuers: TrustedIssuers): HttpReply {
  return jsonReply(request.requestId, authorizationsFor(objectId(request), issuers));
}

function objectId(request: HttpRequest): string {
  try {
    return pathIdentifier(request, 'object_id');
  } catch (error) {
    if (isError(error, 'forbidden')) throw new DataOutError('not_found', 'no object can have this id');
    throw error;
  }
}

/** Characters of a token in a header. API Gateway takes 10,240 bytes of headers; clients and proxies add others. */
const longestBearer = 8192;

/**
 * `GET|POST /ga4gh/drs/v1/objects/{object_id}/access/{access_id}`: the URL of the bytes, and the header that an HTTP client must
 * send with it. The reply repeats the caller's own token, and nothing that the caller does not have.
 *
 * @throws `not_found` for another access id of an object that the caller may have
 */
export async function giveAccessUrl(request: HttpRequest, baseUrl: string, endpoint: DrsEndpoint): Promise<HttpReply> {
  const { rules, catalogue } = endpoint;
  const granted = await grantedObject(request, rules, catalogue);
  const accessId = request.pathParameters.get('access_id') ?? '';
  if (!Object.hasOwn(accessIds, accessId)) throw noSuchAccess();
  const { fileId } = granted;
  const { token, datasetId } = await headerToken(granted, rules);
  const file = await catalogue.findReleasedFile({ fileId, datasetId });
  if (!file) throw accessRefused();
  const plaintext = [baseUrl, 'files', ...segmentsOf(file).map(encodeURIComponent)].join('/');
  const [url] = accessId === accessIds.htsget ? htsgetUrls(file, baseUrl) : [plaintext];
  if (url === undefined) throw noSuchAccess();
  endpoint.served({ requestId: request.requestId, fileId, datasetId, accessId });
  return jsonReply(request.requestId, { url, headers: [`Authorization: Bearer ${token}`] });
}

function noSuchAccess(): DataOutError {
  return new DataOutError('not_found', 'access_id must be plaintext, or htsget for reads and variants');
}

/** With the name at the end, from which many clients read the type. Two names are those of other routes. */
function segmentsOf(file: ArchivedFile): readonly string[] {
  const name = displayFileName(file);
  return ['header', 'content'].includes(name) ? [file.fileId] : [file.fileId, name];
}

/**
 * A token that grants the object alone and fits a header, and the dataset that gives access: one of the caller's tokens or,
 * where all are too long, a visa inside one of them. The caller already has that visa, and it grants less.
 *
 * @throws `invalid_request` when no visa alone grants the object
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
      const grants = visa.length <= longestBearer ? await grantsOf(visa, rules) : [];
      for (const { datasetId: id } of grants) {
        const datasetId = datasets.get(id);
        if (datasetId !== undefined) return { token: visa, datasetId };
      }
    }
  }
  const message = `is longer than ${longestBearer} characters, which do not fit a header, and no visa in it grants this alone: send a shorter passport`;
  throw invalidRequest([{ field: 'passports', message }]);
}

/**
 * A problem reply in DRS's own model: `Error` with `status_code` and `msg`, as `application/json`. DRS leaves room for more
 * members, so the stable `code`, the request id and the violations stay.
 */
export function drsErrorReply(reply: HttpReply): HttpReply {
  const { status, title, detail, code, requestId, violations } = JSON.parse(reply.body) as Problem;
  const error = { status_code: status, msg: detail ?? title, code, requestId, ...(violations && { violations }) };
  return { ...reply, headers: { ...reply.headers, 'Content-Type': 'application/json' }, body: JSON.stringify(error) };
}
