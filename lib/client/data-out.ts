import { authorized, type Credentials, type ServiceConnection } from './connection.ts';
import { ClientError, ServiceError } from './errors.ts';
import { fileSize } from './file-size.ts';
import { readJson, text } from './json.ts';
import type { TransportReply, TransportRequest } from './transport.ts';

/** A file of a dataset, as the data-out API lists it. */
export interface DatasetFile {
  readonly fileId: string;
  readonly datasetId: string;
  /** Last part of the path; not to be used as a path without a look. */
  readonly displayName: string;
  readonly path: string;
  /** Bytes of the plaintext. */
  readonly size: number | undefined;
  /** Of the plaintext, with its algorithm, such as `SHA256`. */
  readonly checksum: { readonly value: string; readonly type: string } | undefined;
}

/** What a file would be, without its bytes. */
export interface Description {
  /** The service's name for it; not to be used as a path without a look. */
  readonly name: string;
  readonly size: number;
  readonly etag: string | undefined;
}

/** What of a file is wanted, beside its id. */
export interface FileQuery {
  /** Base64 of the 32 bytes of a public key: a Crypt4GH container for it. Absent: the plaintext. */
  readonly publicKey?: string | undefined;
  /** Of the plaintext, bytes [start, end). */
  readonly coordinates?: { readonly start: number; readonly end: number } | undefined;
}

const DATASET_FILES_BYTES = 512 * 1024 * 1024;

const asReader: Credentials = ({ visa }) => ({ headers: { authorization: `Bearer ${visa}` } });

/** The data-out API: files straight from the archive, for whoever has a visa. */
export class DataOutApi {
  readonly connection: ServiceConnection;
  readonly #url: URL;

  /** @throws ClientError `usage` when the connection has no address of a data-out API */
  constructor(connection: ServiceConnection) {
    if (connection.dataOutUrl === undefined) {
      throw new ClientError('usage', 'there is no address of the data-out API', {
        remedy: 'Give it with --direct-url, DATA_OUT_DIRECT_URL or the configuration file.',
      });
    }
    // A visa is all that it takes: no password is sent there, nor asked for.
    this.connection = { ...connection, basic: undefined };
    this.#url = connection.dataOutUrl;
  }

  /** Stable ids of the datasets that are granted and released. @throws ClientError */
  async datasets(options: { signal?: AbortSignal | undefined } = {}): Promise<string[]> {
    const url = new URL('metadata/datasets', this.#url);
    const parsed = await this.#json('the datasets', { url, ...options });
    if (!Array.isArray(parsed)) throw new ClientError('protocol', 'the service gave no list of datasets');
    return parsed.filter((id) => typeof id === 'string');
  }

  /** @throws ClientError */
  async files(datasetId: string, options: { signal?: AbortSignal | undefined } = {}): Promise<DatasetFile[]> {
    const url = new URL(`metadata/datasets/${encodeURIComponent(datasetId)}/files`, this.#url);
    const parsed = await this.#json(`the files of ${JSON.stringify(datasetId)}`, { url, ...options });
    if (!Array.isArray(parsed)) throw new ClientError('protocol', 'the service gave no list of files');
    return parsed.map(datasetFile);
  }

  /** @throws ClientError */
  async describe(
    fileId: string,
    query: FileQuery = {},
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<Description> {
    const reply = await this.request(fileId, query, { method: 'HEAD', ...options }).catch(async (error: unknown) => {
      // A reply to HEAD has no body that would say why; one to GET has.
      if (error instanceof ServiceError) await (await this.request(fileId, query, { ...options })).discard();
      throw error;
    });
    await reply.discard();
    const size = fileSize(reply);
    if (size === undefined) throw new ClientError('protocol', `${fileId}: the service gave no size`);
    const name = fileNameIn(reply.header('content-disposition')) ?? fileId;
    return { name, size, etag: reply.header('etag') };
  }

  /**
   * One request for a file. Statuses 412 and 416 are replies.
   *
   * @throws ClientError
   */
  request(
    fileId: string,
    { publicKey, coordinates }: FileQuery,
    options: Pick<TransportRequest, 'method' | 'headers' | 'signal'> & { readonly redirect?: false },
  ): Promise<TransportReply> {
    const url = new URL(`files/${encodeURIComponent(fileId)}`, this.#url);
    if (publicKey !== undefined) url.searchParams.set('destinationFormat', 'CRYPT4GH');
    if (coordinates) {
      url.searchParams.set('startCoordinate', `${coordinates.start}`);
      url.searchParams.set('endCoordinate', `${coordinates.end}`);
    }
    const { redirect, headers, ...rest } = options;
    if (redirect === false) url.searchParams.set('redirect', 'false');
    const key = publicKey === undefined ? {} : { 'x-c4gh-public-key': publicKey };
    return authorized(this.connection, {
      what: `the file ${JSON.stringify(fileId)}`,
      needsVisa: true,
      request: { url, headers: { ...headers, ...key }, ...rest },
      credentials: asReader,
      accepts: [412, 416],
    });
  }

  async #json(what: string, request: Pick<TransportRequest, 'url' | 'signal'>): Promise<unknown> {
    const backoff = this.connection.transport.backoff(request.signal);
    for (;;) {
      const reply = await authorized(this.connection, { what, needsVisa: true, request, credentials: asReader });
      try {
        return await readJson(reply, DATASET_FILES_BYTES);
      } catch (error) {
        await backoff.failed(error);
      }
    }
  }
}

function datasetFile(row: unknown): DatasetFile {
  const { decryptedFileSize, decryptedFileChecksum, decryptedFileChecksumType } = row as Record<string, unknown>;
  const hasChecksum = typeof decryptedFileChecksum === 'string' && typeof decryptedFileChecksumType === 'string';
  return {
    fileId: text(row, 'fileId'),
    datasetId: text(row, 'datasetId'),
    displayName: text(row, 'displayFileName'),
    path: text(row, 'fileName'),
    size: typeof decryptedFileSize === 'number' ? decryptedFileSize : undefined,
    checksum: hasChecksum ? { value: decryptedFileChecksum, type: decryptedFileChecksumType } : undefined,
  };
}

/** RFC 6266 § 4: the name in UTF-8 when there is one, else the plain one. */
function fileNameIn(disposition = ''): string | undefined {
  const [, encoded] = /filename\*=UTF-8''([^;]+)/i.exec(disposition) ?? [];
  const [, quoted] = /filename="((?:[^"\\]|\\.)*)"/i.exec(disposition) ?? [];
  try {
    return encoded === undefined ? quoted?.replaceAll(/\\(.)/g, '$1') : decodeURIComponent(encoded);
  } catch {
    return quoted;
  }
}
