import { ENCRYPTED_SEGMENT_BYTES, segmentOverhead } from '../../../crypt4gh/sizes.ts';
import { DataOutError } from '../../../errors.ts';
import { nameDamagedFile } from '../../archive/archived-file.ts';
import { bearerToken, verifiedToken } from '../../http/authorization.ts';
import { type HttpReply, jsonReply } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import { accessRefused, entitledFile, pathIdentifier } from '../access.ts';
import { describePlaintext } from '../describe-plaintext.ts';
import { type DatasetFilesEndpoint, type DatasetsEndpoint, listDatasetFiles, listDatasets } from '../list-datasets.ts';
import type { DatasetFile, DirectCatalogue } from '../ports.ts';
import { displayFileName } from '../representation.ts';

/** pyEGA3 subtracts from every size the bytes of an initialization vector, which plaintext does not have. */
const vectorBytes = 16;

/** By the `api_version` of pyEGA3's server file: how the checksum of a plaintext is called. */
const checksumNames = { v1: 'unencryptedChecksum', v2: 'plainChecksum' } as const;

/** @throws `not_found` for another version */
function versionOf(request: HttpRequest): keyof typeof checksumNames {
  const version = request.pathParameters.get('version');
  if (version === 'v1' || version === 'v2') return version;
  throw new DataOutError('not_found', 'the versions are v1 and v2');
}

/** `GET /ega/{version}/datasets` */
export async function listEgaDatasets(request: HttpRequest, endpoint: DatasetsEndpoint): Promise<HttpReply> {
  const version = versionOf(request);
  const shown = (ids: readonly string[]) => (version === 'v1' ? ids : ids.map((datasetId) => ({ datasetId })));
  return await listDatasets(request, endpoint, shown);
}

/** `GET /ega/{version}/datasets/{datasetId}/files`, with the limits of `listDatasetFiles`. */
export async function listEgaFiles(
  request: HttpRequest,
  endpoint: DatasetFilesEndpoint,
): Promise<HttpReply<AsyncIterable<string>>> {
  const version = versionOf(request);
  return await listDatasetFiles(request, endpoint, (_, file) => entry(version, file, plaintextSize(file)));
}

interface EgaFileEndpoint extends DatasetFilesEndpoint {
  readonly catalogue: DatasetFilesEndpoint['catalogue'] & Pick<DirectCatalogue, 'findReleasedFile' | 'factsOf'>;
}

/** `GET /ega/{version}/files/{fileId}`, with which pyEGA3 begins to fetch a file. */
export async function describeEgaFile(request: HttpRequest, endpoint: EgaFileEndpoint): Promise<HttpReply> {
  const { rules, catalogue } = endpoint;
  const version = versionOf(request);
  const { grants } = await verifiedToken(bearerToken(request), rules);
  const file = await entitledFile(pathIdentifier(request, 'fileId'), grants, catalogue);
  const { fileId, datasetId } = file;
  const facts = await catalogue.factsOf(fileId);
  if (!facts) throw accessRefused();
  const { size, checksums } = await nameDamagedFile(fileId, async () => describePlaintext(file, facts));
  endpoint.served({ requestId: request.requestId, datasetId, rows: 1 });
  return jsonReply(request.requestId, entry(version, { ...file, plaintextChecksums: checksums }, size));
}

function plaintextSize({ decryptedFileSize, archiveFileSize = 0 }: DatasetFile): number {
  const segments = Math.ceil(archiveFileSize / ENCRYPTED_SEGMENT_BYTES);
  return decryptedFileSize ?? archiveFileSize - segments * segmentOverhead;
}

/** The checksum is an MD5 or empty: without a text, pyEGA3 asks for each file of a list again, and then fails. */
function entry(
  version: keyof typeof checksumNames,
  file: Pick<DatasetFile, 'fileId' | 'submissionFilePath' | 'plaintextChecksums'>,
  size: number,
) {
  const md5 = file.plaintextChecksums.find(({ type }) => type === 'MD5');
  return {
    fileId: file.fileId,
    displayFileName: displayFileName(file),
    fileName: file.submissionFilePath,
    fileSize: size + vectorBytes,
    fileStatus: 'available',
    [checksumNames[version]]: md5?.value.length === 32 ? md5.value : '',
  };
}
