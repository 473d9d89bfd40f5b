type Chunks = AsyncIterable<Uint8Array>;

/** The same chunks; `onBytes` gets the size of each, and the chunk. */
export async function* counted(
  source: Chunks,
  onBytes: (bytes: number, chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    onBytes(chunk.length, chunk);
    yield chunk;
  }
}

/** `first`, then `rest`. */
export async function* joined(first: Uint8Array, rest: Chunks): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}
