import { combinedCrc, emptyCrc, formatCrc } from '../../../common/crc64nvme.ts';
import { readAhead } from '../../../crypt4gh/body/read-ahead.ts';
import { ENCRYPTED_SEGMENT_BYTES } from '../../../crypt4gh/index.ts';
import type { ClientError } from '../errors.ts';
import { compared, type Expected, type Verified } from './check-file.ts';
import { headerDigest, loadCrc, readHeader } from './disk/container-digest.ts';
import type { StagedFile } from './staged-file.ts';
import { pieceBytes } from './workers.ts';

export interface StreamFileOptions {
  /** Requests at once; each piece of 8 MiB is in memory until those before it are taken. */
  readonly parallel: number;
  /** What the file must be; default: it is not compared. */
  readonly expected: Expected | undefined;
  /** Called before the last byte, once the file is compared; `undefined`: it is not verified. */
  readonly verified: (verified: Verified | undefined) => void;
  readonly retrying: (error: ClientError) => void;
  readonly signal: AbortSignal | undefined;
}

/**
 * The bytes of one file in their order, for a pipe, in bounded memory. A Crypt4GH body can end after any segment, so a reader
 * would take what stops there for a whole file. Therefore the output never stops there before its end: a byte or two are held
 * back, and the last one comes when the file is compared with what is expected.
 * @throws ClientError; ChangedError if the file was replaced meanwhile: the bytes given out cannot be continued
 */
export async function* streamFile(
  remote: Pick<StagedFile, 'size' | 'givesRanges' | 'read'>,
  options: StreamFileOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const crcOf = await loadCrc();
  let crc = emptyCrc;
  let end = 0;
  let header: { readonly length: number; readonly sha256: string } | undefined;
  let held = Buffer.alloc(0);
  for await (const piece of inOrder(remote, options)) {
    const head = end === 0 ? await readHeader({ read: async (_, length) => piece.subarray(0, length) }) : undefined;
    if (head) header = { length: head.length, sha256: headerDigest(head) };
    crc = combinedCrc(crc, crcOf(piece), piece.length);
    end += piece.length;
    // So that no yield ends with the last piece.
    const bytes = Buffer.concat([held, piece]);
    const keep = Math.min(bytes.length, isBorder(end - 1, header?.length) ? 2 : 1);
    held = Buffer.from(bytes.subarray(bytes.length - keep));
    yield bytes.subarray(0, bytes.length - keep);
  }
  const found = { size: end, headerSha256: header?.sha256 ?? '', crc64nvme: formatCrc(crc) };
  options.verified(options.expected && compared(options.expected, found));
  yield held;
}

/** Whether a container that ended here would look whole. */
function isBorder(position: number, header: number | undefined): boolean {
  return header !== undefined && position >= header && (position - header) % ENCRYPTED_SEGMENT_BYTES === 0;
}

/** The pieces. */
async function* inOrder(
  remote: Pick<StagedFile, 'size' | 'givesRanges' | 'read'>,
  { parallel, signal: stopped, retrying }: StreamFileOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const abort = new AbortController();
  const signal = stopped ? AbortSignal.any([stopped, abort.signal]) : abort.signal;
  const fetched = (start: number) =>
    remote.read(start, Math.min(start + pieceBytes, remote.size), { signal, retrying });
  const others = Array.from({ length: Math.ceil(remote.size / pieceBytes) }, (_, piece) => piece * pieceBytes).slice(1);
  try {
    // The first reply shows the version that all others must have.
    yield await fetched(0);
    yield* readAhead(others, () => (remote.givesRanges ? parallel : 1), fetched);
  } finally {
    abort.abort();
  }
}
