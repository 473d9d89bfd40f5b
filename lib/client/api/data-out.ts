import * as z from 'zod/mini';
import { visasIn } from '../../common/untrusted-json.ts';
import { authorized, type Credentials, headersFit, readAuthorized, type ServiceConnection } from './connection.ts';
import { ClientError, ServiceError } from './errors.ts';
import { optional, parsed, readJson, text } from './json.ts';
import { fileSize, type TransportReply, type TransportRequest } from './transport.ts';
import { type ChosenVisa, datasetVisa, oversize, type VisaChoice, visasForAll } from './visa-choice.ts';

/** A file of a dataset, as the data-out API lists it. */
export interface DatasetFile {
  readonly fileId: string;
  readonly datasetId: string;
  /** Last part of the path. It comes from the submitter: check it before it becomes a path. */
  readonly displayName: string;
  readonly path: string;
  /** Bytes of the plaintext. */
  readonly size: number | undefined;
  /** Of the plaintext, with its algorithm, such as `SHA256`. */
  readonly checksum: { readonly value: string; readonly type: string } | undefined;
}

/** What the service says of a file before it is fetched. */
export interface Description {
  /** The service's name for it. Check it before it becomes a path. */
  readonly name: string;
  readonly size: number;
}

/** The form of a file and the part of it that a request asks for. */
export interface FileQuery {
  /** Base64 of the 32 bytes of a public key: asks for a Crypt4GH container for it. Default: the plaintext. */
  readonly publicKey?: string | undefined;
  /** Bytes [start, end) of the plaintext. Default: all. */
  readonly coordinates?: { readonly start: number; readonly end: number } | undefined;
  /** One half of the container: its header for `publicKey`, or the archived body, for which there is no key. Default: both. */
  readonly half?: 'header' | 'content';
}

/** Files of one request. */
const rowsPerPage = 10_000;
const datasetFilesBytes = 512 * 1024 * 1024;

const bearer = (visa: string) => ({ headers: { authorization: `Bearer ${visa}` } });
const asReader: Credentials = ({ visa }) => bearer(visa);

/** The data-out API: gives files straight from the archive to holders of a visa. */
export class DataOutApi {
  readonly connection: ServiceConnection;
  readonly #url: URL;
  /** The visa that grants a file, by file id, if the passport is too large for a header. */
  readonly #granting = new Map<string, ChosenVisa & { readonly passport: string }>();

  /** @throws ClientError `usage` if the connection has no address of a data-out API */
  constructor(connection: ServiceConnection) {
    if (connection.dataOutUrl === undefined) {
      throw new ClientError('usage', 'no address for direct access is set', {
        remedy:
          'If the archive gave you one, data-out setup --direct-url URL keeps it; or use --direct-url or DATA_OUT_DIRECT_URL. ' +
          'Files that are staged for you need none: data-out list.',
      });
    }
    // This API takes a visa alone. No password is sent to it, so none is asked for.
    this.connection = { ...connection, basic: undefined };
    this.#url = connection.dataOutUrl;
  }

  /** Stable ids of the released datasets that the visas grant. @throws ClientError */
  async datasets(options: { signal?: AbortSignal | undefined } = {}): Promise<string[]> {
    const request = { url: new URL('metadata/datasets', this.#url), ...options };
    const { connection } = this;
    const fits = (visa: string) => headersFit(connection.transport, { ...request, ...bearer(visa) });
    const token = (await connection.visa()).trim();
    const visas = fits(token) ? [] : visasForAll(token, fits);
    if (visas.length === 0) return await this.#datasetsOf(request, connection);
    connection.note(`${oversize(token)}: its visas are sent one after the other.`);
    const ids = new Set<string>();
    const refusals: ServiceError[] = [];
    for (const visa of visas) {
      try {
        const found = await this.#datasetsOf(request, { ...connection, visa: async () => visa });
        for (const id of found) ids.add(id);
      } catch (error) {
        // A passport may hold visas of issuers that this service does not trust.
        if (!(error instanceof ServiceError && error.status === 401)) throw error;
        refusals.push(error);
      }
    }
    if (refusals.length === visas.length) throw refusals[0];
    return [...ids].sort();
  }

  async #datasetsOf(request: Pick<TransportRequest, 'url' | 'signal'>, connection: ServiceConnection) {
    const ids = await this.#json('the datasets', request, { connection });
    if (!Array.isArray(ids)) throw new ClientError('protocol', 'the service gave no list of datasets');
    return ids.filter((id) => typeof id === 'string');
  }

  /** All files that can be served, in the order of the service, from as many pages as they take. @throws ClientError */
  async files(datasetId: string, options: { signal?: AbortSignal | undefined } = {}): Promise<DatasetFile[]> {
    const url = new URL(`metadata/datasets/${encodeURIComponent(datasetId)}/files`, this.#url);
    const what = `the files of ${JSON.stringify(datasetId)}`;
    const query = { choice: datasetVisa(datasetId) };
    url.searchParams.set('per_page', `${rowsPerPage}`);
    for (const files: DatasetFile[] = []; ; ) {
      const rows = await this.#json(what, { url, ...options }, query);
      if (!Array.isArray(rows)) throw new ClientError('protocol', 'the service gave no list of files');
      const page = parsed(rowsOfDataset, rows).map(datasetFile);
      // A service that ignores `after` would give the same page for ever.
      if (page[0]?.fileId === files[0]?.fileId && files.length > 0) return files;
      for (const file of page) files.push(file);
      const last = page.at(-1);
      if (!last || page.length !== rowsPerPage) return files;
      url.searchParams.set('after', last.fileId);
    }
  }

  /** @throws ClientError */
  async describe(
    fileId: string,
    query: FileQuery = {},
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<Description> {
    const reply = await this.request(fileId, query, { method: 'HEAD', ...options }).catch(async (error: unknown) => {
      // A refused HEAD has no body with the reason; GET has one.
      if (error instanceof ServiceError) await (await this.request(fileId, query, { ...options })).discard();
      throw error;
    });
    await reply.discard();
    const size = fileSize(reply);
    if (size === undefined) throw new ClientError('protocol', `${fileId}: the service gave no size`);
    const name = fileNameIn(reply.header('content-disposition')) ?? fileId;
    return { name, size };
  }

  /**
   * SHA-256 of the whole plaintext as ingestion recorded it, from the file's DRS object. Unlike the list of a dataset, it
   * needs no dataset, and holds no checksum of other bytes than those that are served.
   * @returns lower-case hex; `undefined` if the service lists none, or gives no DRS object
   * @throws ClientError
   */
  async sha256Of(fileId: string, options: { signal?: AbortSignal | undefined } = {}): Promise<string | undefined> {
    const url = new URL(`ga4gh/drs/v1/objects/${encodeURIComponent(fileId)}`, this.#url);
    try {
      const choice = this.#fileVisa(fileId, options.signal);
      return sha256In(await this.#json(`the checksum of ${JSON.stringify(fileId)}`, { url, ...options }, { choice }));
    } catch (error) {
      if (error instanceof ServiceError) return undefined;
      throw error;
    }
  }

  /**
   * Sends one request for a file. Replies with the statuses 412 and 416 are returned, not thrown.
   * @throws ClientError
   */
  request(
    fileId: string,
    { publicKey, coordinates, half }: FileQuery,
    options: Pick<TransportRequest, 'method' | 'headers' | 'signal'> & { readonly redirect?: false },
  ): Promise<TransportReply> {
    const url = new URL(`files/${encodeURIComponent(fileId)}${half ? `/${half}` : ''}`, this.#url);
    if (publicKey !== undefined && !half) url.searchParams.set('destinationFormat', 'CRYPT4GH');
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
      choice: this.#fileVisa(fileId, options.signal),
      accepts: [412, 416],
    });
  }

  #fileVisa(fileId: string, signal: AbortSignal | undefined): VisaChoice {
    return async (passport, fits) => {
      const granting = visasIn(passport) && (await this.#grantingVisa(fileId, passport, signal));
      return granting && fits(granting.visa) ? granting : undefined;
    };
  }

  /** Asks the service which visa of a passport grants a file. The body of a DRS POST has room for a whole passport. */
  async #grantingVisa(fileId: string, passport: string, signal: AbortSignal | undefined): Promise<ChosenVisa> {
    const known = this.#granting.get(fileId);
    if (known?.passport === passport) return known;
    const reply = await authorized(this.connection, {
      what: `the access to ${JSON.stringify(fileId)}`,
      needsVisa: false,
      request: {
        method: 'POST',
        url: new URL(`ga4gh/drs/v1/objects/${encodeURIComponent(fileId)}/access/plaintext`, this.#url),
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ passports: [passport] }),
        signal,
      },
      credentials: () => ({}),
    });
    const { headers } = (await readJson(reply)) as { headers?: unknown };
    const [, visa] = /^Authorization: Bearer (\S+)$/.exec(Array.isArray(headers) ? String(headers[0]) : '') ?? [];
    if (visa === undefined) throw new ClientError('protocol', `${fileId}: the service gave no token for it`);
    const note = `${oversize(passport)}: of its visas, only one that grants the file is sent.`;
    const granting = { passport, visa, note };
    this.#granting.set(fileId, granting);
    return granting;
  }

  #json(
    what: string,
    request: Pick<TransportRequest, 'url' | 'signal'>,
    { connection = this.connection, choice }: { connection?: ServiceConnection; choice?: VisaChoice },
  ): Promise<unknown> {
    const options = { what, needsVisa: true, request, credentials: asReader, ...(choice && { choice }) };
    return readAuthorized(connection, options, (reply) => readJson(reply, datasetFilesBytes));
  }
}

const rowsOfDataset = z.array(
  z.object({
    ...{ fileId: text, datasetId: text, displayFileName: text, fileName: text },
    decryptedFileSize: optional(z.number()),
    decryptedFileChecksum: optional(z.string()),
    decryptedFileChecksumType: optional(z.string()),
  }),
);

function datasetFile(row: z.infer<typeof rowsOfDataset>[number]): DatasetFile {
  const { fileId, datasetId, displayFileName: displayName, fileName: path, decryptedFileSize: size } = row;
  const { decryptedFileChecksum: value, decryptedFileChecksumType: type } = row;
  const checksum = value === undefined || type === undefined ? undefined : { value, type };
  return { fileId, datasetId, displayName, path, size, checksum };
}

const drsObject = z.object({ checksums: z.array(z.object({ type: z.string(), checksum: z.string() })) });

/** DRS 1.5, Checksum: a type has its name in the IANA registry of named information. */
function sha256In(object: unknown): string | undefined {
  const { checksums = [] } = drsObject.safeParse(object).data ?? {};
  const isSha256 = ({ type, checksum }: (typeof checksums)[number]) =>
    type === 'sha-256' && /^[0-9a-f]{64}$/i.test(checksum);
  return checksums.find(isSha256)?.checksum.toLowerCase();
}

/** The file name in UTF-8 if there is one, else the plain one (RFC 6266 § 4). */
function fileNameIn(disposition = ''): string | undefined {
  const [, encoded] = /filename\*=UTF-8''([^;]+)/i.exec(disposition) ?? [];
  const [, quoted] = /filename="((?:[^"\\]|\\.)*)"/i.exec(disposition) ?? [];
  try {
    return encoded === undefined ? quoted?.replaceAll(/\\(.)/g, '$1') : decodeURIComponent(encoded);
  } catch {
    return quoted;
  }
}
