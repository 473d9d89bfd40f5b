import { limits } from '../../contract/limits.ts';
import { identifier } from '../../contract/messages.ts';
import { invalidRequest } from '../../errors.ts';
import type { VisaRules } from '../../visas/index.ts';
import { grantedAndReleased } from '../archive/entitlement.ts';
import type { Catalogue } from '../archive/ports.ts';
import { bearerToken, verifiedToken } from '../http/authorization.ts';
import { listReply, rowsPerPage, slice } from '../http/pages.ts';
import { type HttpReply, jsonReply } from '../http/reply.ts';
import { type HttpRequest, readAll, singleQuery } from '../http/request.ts';
import { entitlementsTo, pathIdentifier } from './access.ts';
import type { DatasetFile, DirectCatalogue } from './ports.ts';
import { displayFileName } from './representation.ts';

export interface DatasetsEndpoint {
  readonly rules: VisaRules;
  readonly catalogue: Pick<Catalogue, 'evaluateAccess'>;
}

/**
 * `GET /metadata/datasets`: stable ids of the datasets that are granted and released at this moment, sorted.
 *
 * @param shown the document of the reply. Default: the list itself
 */
export async function listDatasets(
  request: HttpRequest,
  { rules, catalogue }: DatasetsEndpoint,
  shown: (datasetIds: readonly string[]) => unknown = (datasetIds) => datasetIds,
): Promise<HttpReply> {
  const { grants } = await verifiedToken(bearerToken(request), rules);
  const { entitlements } = await grantedAndReleased(catalogue, grants);
  return jsonReply(request.requestId, shown(entitlements.map(({ datasetId }) => datasetId)));
}

/** The dataset in the path, by its stable id, if the caller may have it now. */
export async function entitledDataset(request: HttpRequest, { rules, catalogue }: DatasetsEndpoint): Promise<string> {
  const { grants } = await verifiedToken(bearerToken(request), rules);
  const wanted = { datasetId: pathIdentifier(request, 'datasetId') };
  const [{ datasetId }] = await entitlementsTo(wanted, grants, catalogue);
  return datasetId;
}

export interface DatasetFilesEndpoint {
  readonly rules: VisaRules;
  readonly catalogue: Pick<DirectCatalogue, 'evaluateAccess' | 'filesOfDataset' | 'placeInDataset' | 'hasMoreFiles'>;
  readonly served: (access: DatasetListing) => void;
}

export interface DatasetListing {
  readonly requestId: string;
  readonly datasetId: string;
  readonly rows: number;
}

/**
 * `GET /metadata/datasets/{datasetId}/files[?per_page][&after]`: the dataset's files, as the field's clients read them,
 * by {@link listReply}.
 *
 * @param shown one file of the list
 */
export async function listDatasetFiles(
  request: HttpRequest,
  endpoint: DatasetFilesEndpoint,
  shown: (datasetId: string, file: DatasetFile) => unknown = entry,
): Promise<HttpReply<AsyncIterable<string>>> {
  const datasetId = await entitledDataset(request, endpoint);
  return listReply(request.requestId, await wantedFiles(request, datasetId, endpoint.catalogue), {
    around: ['[', ']'],
    entry: (file) => shown(datasetId, file),
    ended: (rows) => endpoint.served({ requestId: request.requestId, datasetId, rows }),
  });
}

async function wantedFiles(
  request: HttpRequest,
  datasetId: string,
  catalogue: DatasetFilesEndpoint['catalogue'],
): Promise<AsyncIterable<readonly DatasetFile[]>> {
  if (!request.query.has('per_page') && !request.query.has('after')) {
    const most = limits.filesWithoutPages;
    if (await catalogue.hasMoreFiles(datasetId, most)) {
      const message = `is missing: the dataset has more than ${most} files. Ask for pages of at most ${limits.filesPerPage}, each with the last fileId of the one before as after`;
      throw invalidRequest([{ field: 'per_page', message }]);
    }
    return catalogue.filesOfDataset(datasetId);
  }
  const { perPage, after } = readAll({
    perPage: () => rowsPerPage(request),
    after: () => singleQuery(request, 'after'),
  });
  return slice(catalogue.filesOfDataset(datasetId, await placeAfter(datasetId, after, 'after', catalogue)), 0, perPage);
}

/**
 * Where a page begins that follows a file of the dataset; `undefined`: at the start, without such a file.
 *
 * @param field names the query parameter
 * @throws `invalid_request` for a file that is not in the dataset, or that no catalogue can hold
 */
export async function placeAfter(
  datasetId: string,
  fileId: string | undefined,
  field: string,
  catalogue: Pick<DirectCatalogue, 'placeInDataset'>,
): Promise<string | undefined> {
  if (fileId === undefined) return undefined;
  const place = identifier.safeParse(fileId).success && (await catalogue.placeInDataset(datasetId, fileId));
  if (place) return place;
  throw invalidRequest([{ field, message: 'is not a file of this dataset: begin with the first page' }]);
}

/** The submitted path as a container has it: sda-cli asks for names that end so. */
export function containerPath({ submissionFilePath: path }: Pick<DatasetFile, 'submissionFilePath'>): string {
  return path.endsWith('.c4gh') ? path : `${path}.c4gh`;
}

/** Members that are not known are null, not absent: clients in the field read them all. */
function entry(datasetId: string, file: DatasetFile) {
  const [checksum] = file.plaintextChecksums;
  const md5 = file.plaintextChecksums.find(({ type }) => type === 'MD5');
  return {
    fileId: file.fileId,
    datasetId,
    displayFileName: displayFileName(file),
    fileName: file.submissionFilePath,
    filePath: containerPath(file),
    fileSize: file.archiveFileSize ?? null,
    // The member that older clients compare, always as MD5.
    unencryptedChecksum: md5?.value ?? null,
    unencryptedChecksumType: md5?.type ?? null,
    decryptedFileSize: file.decryptedFileSize ?? null,
    decryptedFileChecksum: checksum?.value ?? null,
    decryptedFileChecksumType: checksum?.type ?? null,
    fileStatus: 'READY',
  };
}
