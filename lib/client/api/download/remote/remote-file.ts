import type { ByteRange } from '../../../../crypt4gh/index.ts';
import { ClientError, UnavailableError } from '../../errors.ts';
import { fileSize, type TransportReply } from '../../transport.ts';

/** Identifies the content of a remote file. Bytes of two versions must not be mixed. */
export interface ObjectVersion {
  readonly size: number;
  /** Strong entity tag (RFC 9110 § 8.8.3). */
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
}

export interface RemoteReply {
  readonly version: ObjectVersion;
  /** Exactly the bytes asked for; throws UnavailableError if fewer come. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Ends a reply whose rest is not wanted. */
  discard(): Promise<void>;
}

/** A file on a server that gives ranges of it. */
export interface RemoteFile {
  readonly name: string;
  /** Bytes, as far as known before the first reply. */
  readonly size: number;
  /** Time of the last change in the listing. */
  readonly modified?: Date | undefined;
  /** @throws ChangedError; UnavailableError; ClientError */
  get(request: RangeRequest): Promise<RemoteReply>;
}

/** One request for bytes of a remote file. */
export interface RangeRequest {
  /** Default: the whole file. */
  readonly range?: ByteRange | undefined;
  /** The version that the bytes must be of; default: any. */
  readonly known?: ObjectVersion | undefined;
  readonly signal: AbortSignal | undefined;
}

/** The remote file was replaced under the download: restart. */
export class ChangedError extends ClientError {
  constructor(name: string) {
    super('unavailable', `${name}: the file was replaced while it was downloaded`, {
      remedy: 'Wait for the end of the export, then run the same command again.',
    });
  }
}

/** Whether a later reply of another version would be noticed. */
export function isRecognizable({ etag, lastModified }: ObjectVersion): boolean {
  return etag !== undefined || lastModified !== undefined;
}

/** Headers of a request for a range, on condition that the version is the known one (RFC 9110 § 13.1). */
export function rangeHeaders(range: ByteRange | undefined, known: ObjectVersion | undefined): Record<string, string> {
  const condition =
    known?.etag !== undefined
      ? { 'if-match': known.etag }
      : known?.lastModified !== undefined && { 'if-unmodified-since': known.lastModified };
  return { ...(range && { range: `bytes=${range.start}-${range.end - 1}` }), ...condition };
}

/**
 * Checks that a reply with status 200, 206, 412 or 416 has exactly the bytes that were asked for.
 * @throws ChangedError, ClientError `protocol`
 */
export async function checkedReply(
  reply: TransportReply,
  request: {
    readonly name: string;
    readonly range: ByteRange | undefined;
    readonly known: ObjectVersion | undefined;
    /** Expected size of the whole file. With another size it was replaced. */
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
        remedy: 'A proxy on the way may remove the range: try --connections 1, or another network.',
      }),
    );
  }
  const total = totalOf(reply, wanted, range === undefined);
  if (total === undefined) {
    throw await refuse(
      new ClientError('protocol', `${name}: storage answered with other bytes than it was asked for`, {
        remedy: 'Try another network. If that does not help, tell the operator.',
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

/** Size of the whole file; `undefined` if the reply has other bytes than were wanted. */
function totalOf(reply: TransportReply, wanted: ByteRange, whole: boolean): number | undefined {
  if (whole) return fileSize(reply);
  const [, start, last, total] = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(reply.header('content-range') ?? '') ?? [];
  if (Number(start) !== wanted.start) return undefined;
  // A file that has become shorter gives fewer bytes; its size shows that it was replaced.
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
