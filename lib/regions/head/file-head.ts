import { RegionsError } from '../errors.ts';
import type { DataFormat } from '../formats.ts';
import type { VirtualOffset } from '../virtual-offsets.ts';

/** A reference sequence, at its index in the file's own numbering. */
export interface Reference {
  readonly name: string;
  /** Bases; undefined where the header does not say. */
  readonly length?: number;
}

/** What stands before the records of a file. */
export interface FileHead {
  readonly format: DataFormat;
  /** By the number that the records and the index use. A number that a BCF header leaves out is a hole. */
  readonly references: readonly (Reference | undefined)[];
  /** Exactly the header as a valid start of the file; ends at the border of a BGZF block or CRAM container. */
  readonly bytes: Uint8Array;
  /** Where the first record starts. Within a block, {@link bytes} ends with a block that was compressed again. */
  readonly end: VirtualOffset;
  /** Bytes of the whole file. */
  readonly size: number;
  /** What this object takes in memory, about. */
  readonly memoryBytes: number;
}

/** What a reference takes in memory besides its name, about. */
export const referenceBytes = 100;

/** Most references of one file: a header of a few kilobytes can inflate to many more. */
const mostReferences = 2 ** 20;

/** @throws RegionsError for a count above the limit. */
export function expectReferences(count: number): void {
  if (count > mostReferences) throw new RegionsError(`it has more than ${mostReferences} references`);
}

/** A copy: a piece of a header's text would keep the whole text in memory. */
export function ownText(piece: string): string {
  return Buffer.from(piece).toString();
}
