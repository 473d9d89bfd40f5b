import {
  type DataFormat,
  endMarkers,
  type FileHead,
  formatOf,
  indexPathsOf,
  openPart,
  type PlainSource,
  type RegionIndex,
  RegionsError,
  readHead,
  readIndex,
  UnknownReferenceError,
  type VirtualRange,
  virtualRangesOf,
  wholeFile,
} from '../../regions/index.ts';
import { formatsOf, HtsgetError, invalid, type TicketRequest, ticketRequest } from './htsget-request.ts';
import { isFolder, type Place, type ServedFile } from './place.ts';
import type { PlainFile } from './plain-file.ts';
import { Recent } from './recent.ts';

/** Media type of tickets and errors of htsget 1.3. */
export const htsgetType = 'application/vnd.ga4gh.htsget.v1.3.0+json; charset=utf-8';

/** What goes out: a document, or bytes of known size. */
export type HtsgetReply =
  | { readonly document: object }
  | { readonly size: number; stream(): AsyncGenerator<Uint8Array> };

/** Bytes of a header, or of all records, up to which a ticket holds them itself. */
const inlinedBytes = 256 * 1024;
const forever = { milliseconds: Number.POSITIVE_INFINITY };

/**
 * htsget 1.3 over the files of a place, for tools on this machine: `reads/PATH` and `variants/PATH` give tickets, whose URLs
 * lead to `parts/RANGE/PATH`. One part has a whole range, since nothing here limits the size of a reply.
 */
export class Htsget {
  readonly #find: Place['find'];
  /** By entity tag; a header has at most 16 MiB, an index at most 64 MiB. */
  readonly #heads = new Recent<FileHead>({ most: 16, ...forever }, () => 0);
  readonly #indexes = new Recent<RegionIndex>({ most: 4, ...forever }, () => 0);

  constructor(find: Place['find']) {
    this.#find = find;
  }

  /**
   * @param base address of `htsget/`
   * @param path behind it @param body of a POST
   * @throws HtsgetError, and the errors of opening a file
   */
  async answer(base: string, path: readonly string[], query: URLSearchParams, body?: string): Promise<HtsgetReply> {
    const [kind = '', ...rest] = path;
    const formats = formatsOf.get(kind);
    try {
      if (kind === 'parts' && body === undefined) return await this.#part(rest);
      if (formats === undefined) throw new HtsgetError(404, 'NotFound', 'there is nothing at this path');
      const asked = ticketRequest(query, body);
      return { document: await this.#ticket(base, rest, asked, formats) };
    } catch (error) {
      if (!(error instanceof RegionsError)) throw error;
      if (error instanceof UnknownReferenceError) throw new HtsgetError(404, 'NotFound', error.message);
      throw new HtsgetError(400, 'UnsupportedFormat', `the file cannot be cut into regions: ${error.message}`);
    }
  }

  async #ticket(
    base: string,
    path: readonly string[],
    asked: TicketRequest,
    formats: readonly DataFormat[],
  ): Promise<object> {
    const { format, file, source } = await this.#open(path);
    if (!formats.includes(format) || (asked.format ?? format) !== format) {
      throw new HtsgetError(400, 'UnsupportedFormat', `the file is ${format}, which is given as it is`);
    }
    const head = await this.#heads.get(file.etag, () => readHead(source, format));
    const ranges = asked.headerOnly ? [] : await this.#ranges(path, head, asked);
    const urlOf = (name: string) => ({
      url: `${base}parts/${[name, ...path].map(encodeURIComponent).join('/')}`,
      headers: {},
    });
    const isSmall = ranges.reduce((sum, { start, end }) => sum + end.block - start.block + 65_536, 0) <= inlinedBytes;
    const urls: object[] = [
      { ...(head.bytes.length <= inlinedBytes ? dataUrl(head.bytes) : urlOf('header')), class: 'header' },
    ];
    for (const range of ranges) {
      const part = isSmall ? dataUrl(await joined(await openPart(source, format, range))) : urlOf(nameOf(range));
      urls.push({ ...part, class: 'body' });
    }
    if (!asked.headerOnly) urls.push({ ...dataUrl(endMarkers[format]), class: 'body' });
    return { htsget: { format, urls } };
  }

  async #ranges(path: readonly string[], head: FileHead, { regions }: TicketRequest): Promise<readonly VirtualRange[]> {
    if (regions) return virtualRangesOf(await this.#index(path), head, regions);
    const all = wholeFile(head);
    return all.start.block === all.end.block && all.start.within === all.end.within ? [] : [all];
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
    throw new HtsgetError(400, 'UnsupportedFormat', 'no index lies beside the file, so it has no regions');
  }

  async #part([name = '', ...path]: readonly string[]): Promise<HtsgetReply> {
    const { format, file, source } = await this.#open(path);
    if (name === 'header') {
      const { bytes } = await this.#heads.get(file.etag, () => readHead(source, format));
      return { size: bytes.length, stream: () => once(bytes) };
    }
    const [, ...places] = /^(\d{1,16})\.(\d{1,5})-(\d{1,16})\.(\d{1,5})$/.exec(name) ?? [];
    const [block = 0, within = 0, endBlock = 0, endWithin = 0] = places.map(Number);
    if (places.length === 0) throw invalid('this is no part of a ticket');
    const range = { start: { block, within }, end: { block: endBlock, within: endWithin } };
    try {
      const { size, first, middle, last } = await openPart(source, format, range);
      // Read as one file: that is faster than the part's own stream, which reads a mebibyte at a time.
      const stream = () => chained(once(first), file.stream(middle.start, middle.end), once(last));
      return { size, stream };
    } catch (error) {
      throw error instanceof RangeError ? invalid('this part is not in the file') : error;
    }
  }

  async #open(path: readonly string[]): Promise<{ format: DataFormat; file: PlainFile; source: PlainSource }> {
    const found = await this.#find(path);
    if (found === undefined || isFolder(found)) throw new HtsgetError(404, 'NotFound', 'there is no such file');
    const format = formatOf(path.at(-1) ?? '');
    if (!format)
      throw new HtsgetError(400, 'UnsupportedFormat', 'by its name, the file is none of BAM, CRAM, VCF and BCF');
    const file = await (found as ServedFile).open();
    const read = (start: number, end: number) => joined({ stream: () => file.stream(start, end) });
    return { format, file, source: { size: file.size, read } };
  }
}

const nameOf = ({ start, end }: VirtualRange) => `${start.block}.${start.within}-${end.block}.${end.within}`;

function dataUrl(bytes: Uint8Array): { readonly url: string } {
  return { url: `data:;base64,${Buffer.from(bytes).toString('base64')}` };
}

async function joined({ stream }: { stream(): AsyncIterable<Uint8Array> }): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stream()) pieces.push(piece);
  const [only, ...others] = pieces;
  return only !== undefined && others.length === 0 ? only : Buffer.concat(pieces);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* chained(...streams: readonly AsyncIterable<Uint8Array>[]): AsyncGenerator<Uint8Array> {
  for (const stream of streams) yield* stream;
}
