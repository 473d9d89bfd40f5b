import type { RandomAccessSource } from '../../lib/crypt4gh/index.ts';

/** Bytes in memory that remember what was read of them, as [offset, length] of what was asked for. */
export function recordingSource(bytes: Uint8Array, options: { readonly knowsSize?: boolean } = {}) {
  const reads: [number, number][] = [];
  const source: RandomAccessSource = {
    size: options.knowsSize === false ? undefined : bytes.length,
    async read(offset, length) {
      reads.push([offset, length]);
      return bytes.subarray(offset, offset + length);
    },
  };
  return { source, reads };
}
