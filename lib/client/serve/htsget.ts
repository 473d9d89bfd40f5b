import { createHash } from 'node:crypto';
import { Recent } from '../../common/recent.ts';
import { DataOutError, invalidRequest } from '../../errors.ts';
import {
  type AskedTicket,
  askedRanges,
  type Datatype,
  type FileHead,
  htsgetFacts,
  indexPathsOf,
  isDatatype,
  mostBodyBytes,
  openPart,
  type Part,
  type PartForm,
  parsePart,
  partName,
  plaintextTicket,
  postedTicket,
  queriedTicket,
  type RegionIndex,
  readHead,
  readIndex,
  servedFormat,
} from '../../regions/index.ts';
import { isFolder, type Place } from './place.ts';
import type { PlainFile } from './plain-file.ts';

/** What goes out: a document in JSON, or a part of a file. */
export type HtsgetReply = { readonly document: string } | { readonly part: Part };

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

/** Most bytes of the answer that a ticket holds itself, header included. */
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
  readonly #heads = new Recent<FileHead>({ most: keptBytes, size: ({ memoryBytes }) => memoryBytes });
  readonly #indexes = new Recent<RegionIndex>({ most: keptBytes, size: ({ memoryBytes }) => memoryBytes });

  /** @param version of this program */
  constructor(find: Place['find'], version: string) {
    this.#find = find;
    this.#version = version;
  }

  async answer(request: HtsgetRequest): Promise<HtsgetReply> {
    const [kind = '', ...path] = request.path;
    if (kind === 'parts' && !request.body) return { part: await this.#part(path) };
    if (!isDatatype(kind)) throw new DataOutError('not_found', 'There is nothing at this path.');
    if (path.length === 1 && path[0] === 'service-info') return { document: this.#info(kind, request.base) };
    return { document: await this.#ticket(request.base, path, await askedTicket(request, kind), kind) };
  }

  /** GA4GH service-info 1.0.0. */
  #info(datatype: Datatype, base: string): string {
    return JSON.stringify({
      id: `localhost.data-out.htsget.${datatype}`,
      name: `data-out serve: htsget ${datatype}`,
      organization: { name: 'The user of this machine', url: new URL(base).origin },
      version: this.#version,
      ...htsgetFacts(datatype),
    });
  }

  async #ticket(base: string, path: readonly string[], asked: AskedTicket, datatype: Datatype): Promise<string> {
    const file = await this.#open(path);
    const format = servedFormat(path.at(-1) ?? '', datatype, asked.format);
    const head = await this.#heads.get(file.etag, () => readHead(file, format));
    const index = asked.regions && (await this.#index(path));
    const urlOf = (form: PartForm) => ({
      url: `${base}parts/${[partName({ version: versionOf(file), form }), ...path].map(encodeURIComponent).join('/')}`,
      headers: {},
    });
    const options = { format, urlOf, partSizes: [Number.POSITIVE_INFINITY], inlinedBytes };
    return await plaintextTicket({ source: file, head, index }, askedRanges(asked, head, index), options);
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
    throw new DataOutError('unsupported_format', 'No index lies beside the file: only the whole file can be had.');
  }

  async #part([name = '', ...path]: readonly string[]): Promise<Part> {
    const file = await this.#open(path);
    const part = parsePart(name);
    if (part?.form.kind !== 'records') throw new DataOutError('not_found', 'No ticket has such a URL.');
    if (part.version !== versionOf(file))
      throw new DataOutError('not_found', 'The file was replaced: ask for a new ticket.');
    return await openPart(file, servedFormat(path.at(-1) ?? ''), part.form.range);
  }

  async #open(path: readonly string[]): Promise<PlainFile> {
    const found = await this.#find(path);
    if (found === undefined || isFolder(found)) throw new DataOutError('not_found', 'There is no such file.');
    return await found.open();
  }
}

function versionOf({ etag }: PlainFile): string {
  return createHash('sha256').update(etag).digest('hex').slice(0, 32);
}

async function askedTicket({ query, body }: HtsgetRequest, datatype: Datatype): Promise<AskedTicket> {
  const parameters = new Map([...query.keys()].map((name) => [name, query.getAll(name)]));
  const asked = body ? postedTicket(await documentOf(body), parameters, datatype) : queriedTicket(parameters, datatype);
  if (!asked.isEncrypted) return asked;
  throw invalidRequest([{ field: 'encryptionScheme', message: 'must be absent: serve gives plaintext alone' }]);
}

async function documentOf(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size <= mostBodyBytes) chunks.push(chunk);
  }
  if (size > mostBodyBytes)
    throw new DataOutError('request_too_large', `The body has more than ${mostBodyBytes} bytes.`);
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw invalidRequest([{ field: 'body', message: 'is not JSON in UTF-8' }]);
  }
}
