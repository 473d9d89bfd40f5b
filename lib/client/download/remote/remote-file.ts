import type { ByteRange } from '../../../contract/byte-range.ts';
import { ClientError, UnavailableError } from '../../errors.ts';
import { fileSize } from '../../file-size.ts';
import type { TransportReply } from '../../transport.ts';

/** Which bytes these are: with another entity tag, date or size it is another file, and its bytes do not go together. */
export interface ObjectVersion {
  readonly size: number;
  /** Strong entity tag (RFC 9110 § 8.8.3). */
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
}

export interface RemoteReply {
  readonly version: ObjectVersion;
  /** Exactly the bytes asked for; throws UnavailableError when fewer come. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Ends a reply of which nothing more is wanted. */
  discard(): Promise<void>;
}

/** A file that is served by ranges. */
export interface RemoteFile {
  readonly name: string;
  /** As far as is known before the first reply. */
  readonly size: number;
  /** As the listing says. */
  readonly modified?: Date | undefined;
  /** Most bytes that one request should ask for; default: no limit. */
  readonly maximumRangeBytes?: number;
  /** @throws ChangedError; UnavailableError; ClientError */
  get(request: RangeRequest): Promise<RemoteReply>;
}

/** One request for bytes of a remote file. */
export interface RangeRequest {
  /** `undefined`: the whole file. */
  readonly range: ByteRange | undefined;
  /** The version that the bytes must be of; `undefined`: any. */
  readonly known: ObjectVersion | undefined;
  readonly signal: AbortSignal | undefined;
}

/** The remote file is not the one that was begun: begin again. */
export class ChangedError extends ClientError {
  constructor(name: string) {
    super('unavailable', `${name}: the file was replaced while it was downloaded`, {
      remedy: 'Run the same command again when the export has come to its end.',
    });
  }
}

/** Whether bytes of that version can be told from others'. */
export function isRecognizable({ etag, lastModified }: ObjectVersion): boolean {
  return etag !== undefined || lastModified !== undefined;
}

/** Headers of a request for a range of a version that is known (RFC 9110 § 13.1). */
export function rangeHeaders(range: ByteRange | undefined, known: ObjectVersion | undefined): Record<string, string> {
  const condition =
    known?.etag !== undefined
      ? { 'if-match': known.etag }
      : known?.lastModified !== undefined && { 'if-unmodified-since': known.lastModified };
  return { ...(range && { range: `bytes=${range.start}-${range.end - 1}` }), ...condition };
}

/**
 * A reply with status 200, 206, 412 or 416 as the bytes that were asked for. Whatever else it holds is never used.
 *
 * @throws ChangedError, ClientError `protocol`
 */
export async function checkedReply(
  reply: TransportReply,
  request: {
    readonly name: string;
    readonly range: ByteRange | undefined;
    readonly known: ObjectVersion | undefined;
    /** Size that was promised; another one is another file. */
    readonly size: number;
  },
): Promise<RemoteReply> {
  const { name, range, known, size } = request;
  const refuse = async (error: ClientError) => {
    await reply.discard();
    return error;
  };
  if (reply.status === 412 || reply.status === 416) throw await refuse(new ChangedError(name));
  const wanted = range ?? { start: 0, end: size };
  if (range === undefined ? reply.status !== 200 : reply.status !== 206) {
    throw await refuse(
      new ClientError('protocol', `${name}: storage answered ${reply.status} when it was asked for a range`, {
        remedy: 'Something on the way does not let ranges through: try --connections 1, or another network.',
      }),
    );
  }
  const total = totalOf(reply, wanted, range === undefined);
  if (total === undefined) {
    throw await refuse(
      new ClientError('protocol', `${name}: storage did not answer with the bytes it was asked for`, {
        remedy: 'Try another network; if that does not help, tell the operator.',
      }),
    );
  }
  const etag = reply.header('etag');
  const version: ObjectVersion = {
    size: total,
    // A weak tag does not promise the same bytes (RFC 9110 § 8.8.1).
    etag: etag?.startsWith('"') ? etag : undefined,
    lastModified: reply.header('last-modified'),
  };
  if (total !== size || (known && !isSame(known, version))) throw await refuse(new ChangedError(name));
  return { version, bytes: exactly(reply.body, wanted.end - wanted.start, name), discard: () => reply.discard() };
}

function isSame(known: ObjectVersion, now: ObjectVersion): boolean {
  if (known.size !== now.size) return false;
  if (known.etag !== undefined) return known.etag === now.etag;
  return known.lastModified === now.lastModified;
}

/** Bytes of the whole file, when the reply has just the bytes that were wanted. */
function totalOf(reply: TransportReply, wanted: ByteRange, whole: boolean): number | undefined {
  if (whole) return fileSize(reply);
  const [, start, last, total] = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(reply.header('content-range') ?? '') ?? [];
  if (Number(start) !== wanted.start) return undefined;
  // A file that has become shorter ends earlier: its size tells.
  return Number(last) + 1 <= wanted.end ? Number(total) : undefined;
}

async function* exactly(
  bytes: AsyncIterable<Uint8Array>,
  length: number,
  name: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  let left = length;
  for await (const chunk of bytes) {
    if (chunk.length > left) throw new ClientError('protocol', `${name}: storage sent more than it was asked for`);
    left -= chunk.length;
    yield chunk;
  }
  if (left > 0) throw new UnavailableError(`${name}: the reply ended ${left} bytes too early`);
}
