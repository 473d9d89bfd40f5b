import type { ByteRange } from '../../../../crypt4gh/index.ts';
import type { DataOutApi, FileQuery } from '../../data-out.ts';
import { ClientError } from '../../errors.ts';
import { type Location, parseLocation } from '../../proxy.ts';
import { Locations } from './locations.ts';
import { checkedReply, type RangeRequest, type RemoteFile, type RemoteReply, rangeHeaders } from './remote-file.ts';
import { StagedFile } from './staged-file.ts';

/** AWS Lambda streams only the first 6 MB of a reply at full speed. */
const rangeBytes = 5 * 1024 * 1024;

/** A file that the data-out API serves itself. */
export class DirectFile implements RemoteFile {
  readonly name: string;
  readonly size: number;
  readonly maximumRangeBytes = rangeBytes;
  readonly #api: DataOutApi;
  readonly #fileId: string;
  readonly #query: FileQuery;
  /** Bytes of the whole file that are wanted. */
  readonly #part: ByteRange;
  readonly #wholeSize: number;

  /** @param file.part the bytes that are wanted; default: all */
  constructor(
    api: DataOutApi,
    file: {
      readonly fileId: string;
      readonly name: string;
      readonly size: number;
      readonly query?: FileQuery;
      readonly part?: ByteRange | undefined;
    },
  ) {
    const { fileId, size, query = {}, part = { start: 0, end: size } } = file;
    this.#api = api;
    this.#fileId = fileId;
    this.#query = query;
    this.#part = { start: Math.min(part.start, size), end: Math.min(part.end, size) };
    this.#wholeSize = size;
    this.name = file.part === undefined ? file.name : `${file.name} [${part.start}, ${part.end})`;
    this.size = this.#part.end - this.#part.start;
  }

  async get({ range, known, signal }: RangeRequest): Promise<RemoteReply> {
    const { name } = this;
    const [wholeSize, { start, end }] = [this.#wholeSize, this.#part];
    if (start === end && wholeSize > 0) return nothing;
    const wanted = range ? { start: start + range.start, end: start + range.end } : { start, end };
    const isWhole = wanted.start === 0 && wanted.end === wholeSize;
    const asked = isWhole ? undefined : wanted;
    const whole = known && { ...known, size: wholeSize };
    const reply = await this.#api.request(this.#fileId, this.#query, { headers: rangeHeaders(asked, whole), signal });
    const checked = await checkedReply(reply, { name, range: asked, known: whole, size: wholeSize });
    return { ...checked, version: { ...checked.version, size: this.size } };
  }
}

/** The reply to a request for no bytes: HTTP has no empty range. */
const nothing: RemoteReply = {
  version: { size: 0, etag: undefined, lastModified: undefined },
  bytes: { async *[Symbol.asyncIterator]() {} },
  discard: async () => undefined,
};

/**
 * A file of the data-out API as a Crypt4GH container for a key. The API serves a small one itself; storage serves the others.
 * @param query.publicKey base64 of the 32 bytes
 * @throws ClientError
 */
export async function directContainer(
  api: DataOutApi,
  file: { readonly fileId: string; readonly query: FileQuery & { readonly publicKey: string } },
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<RemoteFile> {
  const { fileId, query } = file;
  const { name, size } = await api.describe(fileId, query, { signal });
  const location = async (givenSignal: AbortSignal | undefined) => {
    const reply = await api.request(fileId, query, { redirect: false, signal: givenSignal });
    if (reply.header('content-type')?.startsWith('application/json')) return await parseLocation(reply, name);
    await reply.discard();
    return undefined;
  };
  const first = await location(signal);
  return first === undefined
    ? new DirectFile(api, { fileId, name, size, query })
    : inStorage(api, { name, size }, first, location);
}

/**
 * The two halves of a container for a key: its header, and the archived body, which storage serves by ranges. Nothing is
 * assembled for them.
 * @param file.publicKey base64 of the 32 bytes
 * @throws ClientError
 */
export async function directHalves(
  api: DataOutApi,
  { fileId, name, publicKey }: { readonly fileId: string; readonly name: string; readonly publicKey: string },
): Promise<{ readonly header: Uint8Array; readonly body: RemoteFile }> {
  const location = async (signal?: AbortSignal) =>
    await parseLocation(await api.request(fileId, { half: 'content' }, { redirect: false, signal }), name);
  const header = async () => {
    const chunks: Uint8Array[] = [];
    const reply = await api.request(fileId, { half: 'header', publicKey }, {});
    for await (const chunk of reply.body) chunks.push(chunk);
    return Buffer.concat(chunks);
  };
  const [bytes, first] = await Promise.all([header(), location()]);
  return { header: bytes, body: inStorage(api, { name, size: first.size }, first, location) };
}

/** A file that storage serves. @param renewed gives the next address, after `first` */
function inStorage(
  { connection: { transport } }: DataOutApi,
  { name, size }: { readonly name: string; readonly size: number },
  first: Location,
  renewed: (signal: AbortSignal | undefined) => Promise<Location | undefined>,
): RemoteFile {
  let unused: Location | undefined = first;
  const locations = new Locations({
    async location(_name, given = {}) {
      const found = unused ?? (await renewed(given.signal));
      unused = undefined;
      if (found === undefined) throw new ClientError('protocol', `${name}: the service stopped giving an address`);
      return found;
    },
  });
  return new StagedFile({ name, size, locations, transport });
}
