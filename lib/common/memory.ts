/** Below this many bytes, giving memory back costs more than it saves. */
const releasedFromBytes = 4096;

/**
 * Gives the memory of used bytes back at once, if their buffer holds nothing else. It lies outside V8's heap, so the garbage
 * collector frees it late, and then takes as much processor time as all the rest of a long stream. `lib/crypt4gh`, which is
 * published alone, has its own.
 */
export function release({ buffer, byteLength }: Uint8Array): void {
  const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  if (isAlone && byteLength >= releasedFromBytes) buffer.transfer(0);
}
