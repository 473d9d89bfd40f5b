import type { ByteRange } from '../../../../crypt4gh/index.ts';
import { type ClientError, UnavailableError } from '../../errors.ts';
import type { Transport } from '../../transport.ts';
import type { ObjectVersion, RemoteFile } from './remote-file.ts';

/** Bytes of one request. A piece is held in memory until those before it are taken. */
const pieceBytes = 5 * 1024 * 1024;

interface FetchOptions {
  readonly transport: Transport;
  readonly signal: AbortSignal | undefined;
  readonly retrying?: (error: ClientError) => void;
}

export interface InOrderOptions extends FetchOptions {
  readonly connections: number;
}

/** The bytes of one range, all in memory. A reply that breaks off is asked for again. @throws as {@link inOrder} */
export async function fetchRange(
  remote: RemoteFile,
  { range, known }: { readonly range: ByteRange; readonly known: ObjectVersion | undefined },
  { transport, signal, retrying }: FetchOptions,
): Promise<{ readonly version: ObjectVersion; readonly chunks: readonly Uint8Array[] }> {
  const backoff = transport.backoff(signal);
  for (;;) {
    try {
      const isWhole = range.start === 0 && range.end === remote.size;
      const { version, bytes } = await remote.get({ range: isWhole ? undefined : range, known, signal });
      const chunks: Uint8Array[] = [];
      for await (const chunk of bytes) chunks.push(chunk);
      return { version, chunks };
    } catch (error) {
      if (error instanceof UnavailableError) retrying?.(error);
      await backoff.failed(error);
    }
  }
}

/**
 * The bytes of a remote file from the first to the last, fetched over several connections at once. It serves pipes, which can
 * only be written in order. Memory holds one piece of 5 MiB for each connection, and the one that is being taken. A piece that
 * breaks off is fetched again.
 * @throws ClientError; ChangedError if the file was replaced meanwhile: the bytes given out cannot be continued
 */
export async function* inOrder(
  remote: RemoteFile,
  options: InOrderOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const abort = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, abort.signal]) : abort.signal;
  let version: ObjectVersion | undefined;
  const fetchPiece = async (range: ByteRange): Promise<readonly Uint8Array[]> => {
    const piece = await fetchRange(remote, { range, known: version }, { ...options, signal });
    version ??= piece.version;
    return piece.chunks;
  };
  const { size } = remote;
  // The first reply shows the version that all others must have.
  const first = await fetchPiece({ start: 0, end: Math.min(pieceBytes, size) });
  const under: Promise<readonly Uint8Array[]>[] = [];
  let next = pieceBytes;
  const fill = () => {
    for (; under.length < options.connections && next < size; next += pieceBytes) {
      const piece = fetchPiece({ start: next, end: Math.min(next + pieceBytes, size) });
      // Awaited in its turn, where its failure is thrown.
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
