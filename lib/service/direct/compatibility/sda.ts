import { percentDecoded } from '../../../common/percent.ts';
import { DataOutError, invalidRequest } from '../../../errors.ts';
import { slice } from '../../http/pages.ts';
import { type HttpReply, jsonReply, type ReplyBody } from '../../http/reply.ts';
import { type HttpRequest, readAll, singleQuery } from '../../http/request.ts';
import { accessRefused } from '../access.ts';
import { isSubmittedPath } from '../htsget/named-file.ts';
import {
  containerPath,
  type DatasetFilesEndpoint,
  type DatasetsEndpoint,
  entitledDataset,
  listDatasets,
  placeAfter,
} from '../list-datasets.ts';
import type { DatasetFile, DirectCatalogue } from '../ports.ts';
import { type FileEndpoint, serveFile } from '../serve-file.ts';

/** Files of one page. */
const filesPerPage = 1000;

/** `GET /datasets` of sda-cli's API v2: all of them on one page. */
export function listSdaDatasets(request: HttpRequest, endpoint: DatasetsEndpoint): Promise<HttpReply> {
  return listDatasets(request, endpoint, (datasets) => ({ datasets, nextPageToken: null }));
}

interface SdaEndpoint extends DatasetFilesEndpoint {
  readonly catalogue: DatasetFilesEndpoint['catalogue'] & Pick<DirectCatalogue, 'filesAt' | 'totalsOf'>;
}

/** `GET /datasets/{datasetId}` of sda-cli's API v2: number of files, and bytes of their plaintexts. */
export async function describeSdaDataset(request: HttpRequest, endpoint: SdaEndpoint): Promise<HttpReply> {
  const datasetId = await entitledDataset(request, endpoint);
  return jsonReply(request.requestId, { datasetId, ...(await endpoint.catalogue.totalsOf(datasetId)) });
}

/**
 * `GET /datasets/{datasetId}/files[?filePath|pathPrefix][&pageToken]` of sda-cli's API v2. A token is the last `fileId` of its page.
 *
 * @param baseUrl of the API, without a slash at the end
 * @throws `invalid_request` for both filters at once, and for a token that is not of the dataset
 */
export async function listSdaFiles(request: HttpRequest, endpoint: SdaEndpoint, baseUrl: string): Promise<HttpReply> {
  const { requestId } = request;
  const { catalogue } = endpoint;
  const datasetId = await entitledDataset(request, endpoint);
  const { filePath, pathPrefix, pageToken } = readAll({
    filePath: () => singleQuery(request, 'filePath'),
    pathPrefix: () => singleQuery(request, 'pathPrefix'),
    pageToken: () => singleQuery(request, 'pageToken'),
  });
  if (filePath !== undefined && pathPrefix !== undefined) {
    throw invalidRequest([{ field: 'pathPrefix', message: 'cannot be combined with filePath' }]);
  }
  const place = await placeAfter(datasetId, pageToken, 'pageToken', catalogue);
  const listed = async () =>
    (await Array.fromAsync(slice(catalogue.filesOfDataset(datasetId, place, pathPrefix), 0, filesPerPage))).flat();
  // Empty for a path that no catalogue can hold.
  const isPath = isSubmittedPath(filePath ?? (pathPrefix || '.'));
  const found = filePath === undefined ? listed : () => catalogue.filesAt(datasetId, filePath, false);
  const files = isPath ? await found() : [];
  endpoint.served({ requestId, datasetId, rows: files.length });
  // With the stage, which a client removes from a reference that is relative to it.
  const { pathname } = new URL(`${baseUrl}/`);
  return jsonReply(requestId, {
    files: files.map((file) => entry(file, pathname)),
    nextPageToken: files.length === filesPerPage ? files.at(-1)?.fileId : null,
  });
}

function entry(file: DatasetFile, apiPath: string) {
  return {
    fileId: file.fileId,
    filePath: containerPath(file),
    size: file.archiveFileSize ?? null,
    decryptedSize: file.decryptedFileSize ?? null,
    checksums: file.plaintextChecksums.map(({ type, value }) => ({ type: type.toLowerCase(), checksum: value })),
    downloadUrl: `${apiPath}files/${encodeURIComponent(file.fileId)}?destinationFormat=CRYPT4GH`,
  };
}

interface SdaFileEndpoint extends FileEndpoint {
  readonly catalogue: FileEndpoint['catalogue'] & Pick<DirectCatalogue, 'filesAt'>;
}

/**
 * `GET /s3/{datasetId}/{path+}` of sda-cli's API v1: the container of the file whose `filePath` it is, as {@link serveFile}
 * makes it. The client removes a first folder that looks like a user's name.
 *
 * @throws `precondition_failed`, whose text the client shows, when several files have this path without such a folder
 */
export async function serveSdaFile(
  request: HttpRequest,
  endpoint: SdaFileEndpoint,
  invocation: Parameters<typeof serveFile>[2],
): Promise<HttpReply<ReplyBody>> {
  const datasetId = await entitledDataset(request, endpoint);
  const path = percentDecoded(request.pathParameters.get('path') ?? '');
  const [file, other] = isSubmittedPath(path) ? await endpoint.catalogue.filesAt(datasetId, path, true) : [];
  if (!file) throw accessRefused();
  if (other) {
    throw new DataOutError(
      'precondition_failed',
      'Several files have this path once sda-cli has removed their first folder: use --api-version v2.',
    );
  }
  const pathParameters = new Map([['fileId', encodeURIComponent(file.fileId)]]);
  const query = new Map([...request.query, ['destinationFormat', ['CRYPT4GH']] as const]);
  return await serveFile({ ...request, pathParameters, query }, endpoint, invocation);
}
