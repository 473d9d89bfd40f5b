/**
 * Gives the memory of used bytes back at once, if their buffer holds nothing else. It lies outside V8's heap, so the garbage
 * collector frees it late, and then takes as much processor time as all the rest of a long stream.
 */
export declare function release({ buffer, byteLength }: Uint8Array): void;
