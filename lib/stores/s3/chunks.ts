/** Regroup bytes into chunks of exactly `size`, the last one shorter. Every chunk has memory of its own. */
export async function* inChunks(source: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  let chunk = new Uint8Array(size);
  let filled = 0;
  for await (const bytes of source) {
    for (let start = 0; start < bytes.length; ) {
      const piece = bytes.subarray(start, start + size - filled);
      chunk.set(piece, filled);
      filled += piece.length;
      start += piece.length;
      if (filled === size) {
        yield chunk;
        chunk = new Uint8Array(size);
        filled = 0;
      }
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}
