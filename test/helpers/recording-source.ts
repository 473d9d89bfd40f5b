import type { RandomAccessSource } from '../../lib/crypt4gh/index.ts';

export interface RecordingOptions {
  readonly knowsSize?: boolean;
  /** Of one read: a source may give less than it is asked for. */
  readonly mostBytes?: number;
}

/** Bytes in memory that remember what was read of them, as [offset, length] of what was asked for. */
export function recordingSource(bytes: Uint8Array, options: RecordingOptions = {}) {
  const { mostBytes = Number.POSITIVE_INFINITY } = options;
  const reads: [number, number][] = [];
  const source: RandomAccessSource = {
    size: options.knowsSize === false ? undefined : bytes.length,
    async read(offset, length) {
      reads.push([offset, length]);
      return bytes.subarray(offset, offset + Math.min(length, mostBytes));
    },
  };
  return { source, reads };
}

/** Bytes in memory as a source that is read by position. */
export function bytesSource(bytes: Uint8Array): RandomAccessSource {
  return recordingSource(bytes).source;
}
