import type { ClientError } from '../errors.ts';
import { UnavailableError } from '../errors.ts';
import type { Transport } from '../transport.ts';
import type { ByteRange } from './range-set.ts';
import type { ObjectVersion, RemoteFile } from './remote-file.ts';

/** Asked for at once, and held in memory until those before it have been taken. */
const defaultPieceBytes = 5 * 1024 * 1024;

export interface InOrderOptions {
  readonly connections: number;
  readonly transport: Transport;
  readonly signal: AbortSignal | undefined;
  readonly retrying?: (error: ClientError) => void;
}

/**
 * The bytes of a remote file from the first to the last, fetched over several connections at once: for pipes, which cannot
 * be written to in any other order. In memory are `connections` pieces of 5 MiB. A piece that breaks off is fetched again.
 *
 * @throws ClientError, ChangedError when the file was replaced meanwhile: what was given out does not go on
 */
export async function* inOrder(
  remote: RemoteFile,
  options: InOrderOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const abort = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, abort.signal]) : abort.signal;
  const pieceBytes = Math.min(defaultPieceBytes, remote.maximumRangeBytes ?? defaultPieceBytes);
  let version: ObjectVersion | undefined;
  const fetchPiece = async (range: ByteRange): Promise<readonly Uint8Array[]> => {
    const backoff = options.transport.backoff(signal);
    for (;;) {
      try {
        const isWhole = range.start === 0 && range.end === remote.size;
        const reply = await remote.get(isWhole ? undefined : range, version, signal);
        version ??= reply.version;
        const chunks: Uint8Array[] = [];
        for await (const chunk of reply.bytes) chunks.push(chunk);
        return chunks;
      } catch (error) {
        if (error instanceof UnavailableError) options.retrying?.(error);
        await backoff.failed(error);
      }
    }
  };
  const { size } = remote;
  // The first one says which version all others must be of.
  const first = await fetchPiece({ start: 0, end: Math.min(pieceBytes, size) });
  const under: Promise<readonly Uint8Array[]>[] = [];
  let next = pieceBytes;
  const fill = () => {
    for (; under.length < options.connections && next < size; next += pieceBytes) {
      const piece = fetchPiece({ start: next, end: Math.min(next + pieceBytes, size) });
      // Awaited in its turn; until then nobody needs to hear of its failure.
      piece.catch(() => undefined);
      under.push(piece);
    }
  };
  try {
    fill();
    yield* first;
    for (let piece = under.shift(); piece !== undefined; piece = under.shift()) {
      const chunks = await piece;
      fill();
      yield* chunks;
    }
  } finally {
    abort.abort();
  }
}
