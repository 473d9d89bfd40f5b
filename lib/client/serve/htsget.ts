import { createHash } from 'node:crypto';
import { Recent } from '../../common/recent.ts';
import { InvalidRequestError, NotFoundError, RequestTooLargeError, UnsupportedFormatError } from '../../errors.ts';
import {
  type AskedTicket,
  asCallersError,
  askedRanges,
  type DataFormat,
  type Datatype,
  dataUrl,
  endMarkers,
  type FileHead,
  formatOf,
  formatsOf,
  htsgetFacts,
  indexPathsOf,
  isDatatype,
  mostBodyBytes,
  openPart,
  type PartForm,
  type PlainSource,
  parsePart,
  partName,
  postedTicket,
  queriedTicket,
  type RegionIndex,
  readHead,
  readIndex,
  readRecords,
  type TicketUrl,
  ticketDocument,
} from '../../regions/index.ts';
import { isFolder, type Place, type ServedFile } from './place.ts';
import type { PlainFile } from './plain-file.ts';

/** What goes out: a document, or bytes of known size. */
export type HtsgetReply =
  | { readonly document: object }
  | { readonly size: number; stream(): AsyncGenerator<Uint8Array> };

/** A request behind `htsget/`. */
export interface HtsgetRequest {
  /** Address of `htsget/`. */
  readonly base: string;
  /** Names behind it. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
  /** Of a POST. */
  readonly body?: AsyncIterable<Uint8Array> | undefined;
}

/** Bytes of a header, or of all records, up to which a ticket holds them itself. */
const inlinedBytes = 256 * 1024;
/** Bytes of memory for headers and for indexes. */
const keptBytes = 64 * 2 ** 20;

/**
 * htsget 1.3 over the files of a place, for tools on this machine: `reads/PATH` and `variants/PATH` give tickets, whose URLs
 * lead to `parts/PART/PATH`. One part has a whole range, since nothing here limits the size of a reply.
 */
export class Htsget {
  readonly #find: Place['find'];
  readonly #version: string;
  /** By entity tag. */
  readonly #heads = new Recent<FileHead>({ most: keptBytes, size: ({ bytes }) => bytes.length });
  readonly #indexes = new Recent<RegionIndex>({ most: keptBytes, size: ({ memoryBytes }) => memoryBytes });

  /** @param version of this program */
  constructor(find: Place['find'], version: string) {
    this.#find = find;
    this.#version = version;
  }

  /** @throws DataOutError for the client; the errors of opening a file */
  async answer(request: HtsgetRequest): Promise<HtsgetReply> {
    const [kind = '', ...path] = request.path;
    return await asCallersError(async () => {
      if (kind === 'parts' && !request.body) return await this.#part(path);
      if (!isDatatype(kind)) throw new NotFoundError('There is nothing at this path.');
      if (path.length === 1 && path[0] === 'service-info') return { document: this.#info(kind, request.base) };
      return { document: await this.#ticket(request.base, path, await askedTicket(request, kind), kind) };
    });
  }

  /** GA4GH service-info 1.0.0. */
  #info(datatype: Datatype, base: string): object {
    return {
      id: `localhost.data-out.htsget.${datatype}`,
      name: `data-out serve: htsget ${datatype}`,
      organization: { name: 'The user of this machine', url: new URL(base).origin },
      version: this.#version,
      ...htsgetFacts(datatype),
    };
  }

  async #ticket(base: string, path: readonly string[], asked: AskedTicket, datatype: Datatype): Promise<object> {
    const { format, file, source, version } = await this.#open(path);
    if (!formatsOf[datatype].includes(format) || (asked.format ?? format) !== format) {
      throw new UnsupportedFormatError(`The file is ${format}; no other format of it is available.`);
    }
    const head = await this.#heads.get(file.etag, () => readHead(source, format));
    const ranges = askedRanges(asked, head, asked.regions && (await this.#index(path)));
    const urlOf = (form: PartForm) => ({
      url: `${base}parts/${[partName({ version, form }), ...path].map(encodeURIComponent).join('/')}`,
      headers: {},
    });
    const isSmall = ranges.reduce((sum, { start, end }) => sum + end.block - start.block + 65_536, 0) <= inlinedBytes;
    const bodies = isSmall
      ? (await readRecords(source, format, ranges)).map((bytes) => ({ url: dataUrl(bytes) }))
      : ranges.map((range) => urlOf({ kind: 'records', range }));
    const header = head.bytes.length <= inlinedBytes ? { url: dataUrl(head.bytes) } : urlOf({ kind: 'header' });
    if (!asked.headerOnly) bodies.push({ url: dataUrl(endMarkers[format]) });
    const urls: TicketUrl[] = [{ ...header, class: 'header' }];
    return ticketDocument(format, [...urls, ...bodies.map((body): TicketUrl => ({ ...body, class: 'body' }))]);
  }

  /** The index that lies beside a data file. */
  async #index(path: readonly string[]): Promise<RegionIndex> {
    const name = path.at(-1) ?? '';
    for (const beside of indexPathsOf(name)) {
      const found = await this.#find([...path.slice(0, -1), beside]);
      if (found === undefined || isFolder(found)) continue;
      const file = await found.open();
      return await this.#indexes.get(file.etag, () => readIndex(file.stream(0, file.size)));
    }
    throw new UnsupportedFormatError('No index lies beside the file: only the whole file can be had.');
  }

  async #part([name = '', ...path]: readonly string[]): Promise<HtsgetReply> {
    const { format, file, source, version } = await this.#open(path);
    const part = parsePart(name);
    if (part === undefined || part.form.kind === 'segments') throw new NotFoundError('No ticket has such a URL.');
    if (part.version !== version) throw new NotFoundError('The file was replaced: ask for a new ticket.');
    if (part.form.kind === 'header') {
      const { bytes } = await this.#heads.get(file.etag, () => readHead(source, format));
      return { size: bytes.length, stream: () => once(bytes) };
    }
    if (part.form.range.end.block > file.size) throw new NotFoundError('The file ends before this part.');
    const { size, first, middle, last } = await openPart(source, format, part.form.range);
    // Read as one file: that is faster than the part's own stream, which reads a mebibyte at a time.
    const stream = () => chained(once(first), file.stream(middle.start, middle.end), once(last));
    return { size, stream };
  }

  async #open(path: readonly string[]) {
    const found = await this.#find(path);
    if (found === undefined || isFolder(found)) throw new NotFoundError('There is no such file.');
    const format: DataFormat | undefined = formatOf(path.at(-1) ?? '');
    if (!format) throw new UnsupportedFormatError('By its name, the file is none of BAM, CRAM, VCF and BCF.');
    const file: PlainFile = await (found as ServedFile).open();
    const source: PlainSource = { size: file.size, read: (start, end) => joined(file.stream(start, end)) };
    const version = createHash('sha256').update(file.etag).digest('hex').slice(0, 32);
    return { format, file, source, version };
  }
}

async function askedTicket({ query, body }: HtsgetRequest, datatype: Datatype): Promise<AskedTicket> {
  const parameters = new Map([...query.keys()].map((name) => [name, query.getAll(name)]));
  const asked = body ? postedTicket(await documentOf(body), parameters, datatype) : queriedTicket(parameters, datatype);
  if (!asked.isEncrypted) return asked;
  throw new InvalidRequestError([
    { field: 'encryptionScheme', message: 'must be absent: serve gives plaintext alone' },
  ]);
}

async function documentOf(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size <= mostBodyBytes) chunks.push(chunk);
  }
  if (size > mostBodyBytes) throw new RequestTooLargeError(`The body has more than ${mostBodyBytes} bytes.`);
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new InvalidRequestError([{ field: 'body', message: 'is not JSON in UTF-8' }]);
  }
}

async function joined(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  const [only, ...others] = pieces;
  return only !== undefined && others.length === 0 ? only : Buffer.concat(pieces);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* chained(...streams: readonly AsyncIterable<Uint8Array>[]): AsyncGenerator<Uint8Array> {
  for (const stream of streams) yield* stream;
}
