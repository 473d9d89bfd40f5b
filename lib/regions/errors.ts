/** Base of every error about data. A wrong argument is a `RangeError` instead. `message` holds no bytes of the file. */
export abstract class RegionsError extends Error {
  abstract readonly code: 'damaged_file' | 'damaged_index' | 'index_too_large' | 'unknown_reference' | 'cannot_cut';
  override get name(): string {
    return this.constructor.name;
  }
}

/** The data file breaks the rule in the message, or exceeds a limit in it: another request does not help. */
export class LyingFileError extends RegionsError {
  readonly code = 'damaged_file';
}

/** The index breaks the rule in the message, or belongs to another file: whoever archived it must make it again. */
export class RegionIndexError extends RegionsError {
  readonly code: 'damaged_index' | 'index_too_large' = 'damaged_index';
}

/** The index needs more memory than the limit in the message. */
export class IndexTooLargeError extends RegionIndexError {
  override readonly code = 'index_too_large';
}

/** The file has no reference sequence of this name. */
export class UnknownReferenceError extends RegionsError {
  readonly code = 'unknown_reference';
  readonly referenceName: string;
  constructor(referenceName: string) {
    super(`the file has no reference sequence ${JSON.stringify(referenceName)}`);
    this.referenceName = referenceName;
  }
}

/** The index names no place near enough at which the file can be cut without opening its blocks. */
export class CannotCutError extends RegionsError {
  readonly code = 'cannot_cut';
}
