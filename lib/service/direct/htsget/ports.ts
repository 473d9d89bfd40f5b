import type { ArchivedFile } from '../../archive/ports.ts';

/** A file as the path of a request names it: by its stable id, or by a dataset and the submitter's path. */
export type NamedFile = { readonly fileId: string } | { readonly datasetId: string; readonly path: string };

/** How a name becomes that of its index: the last `drop` characters of a name that ends so give way to `add`. */
export interface IndexName {
  /** In lower case; names are compared in any case. */
  readonly ending: string;
  readonly drop: number;
  readonly add: string;
}

/** A file that the caller may have now. */
export interface IndexedFile {
  /** Through the first dataset, by its stable id, that is granted and released. */
  readonly data: ArchivedFile;
  /** The file of the same dataset that the first of the index names finds. */
  readonly index: ArchivedFile | undefined;
  /** Indexes of the granted ids that name the dataset, ascending; never empty. */
  readonly namedBy: readonly number[];
}

/** The catalogue, with what htsget alone asks. */
export interface RegionCatalogue {
  /**
   * Decide about access and read the file with its index, in one statement.
   *
   * @param granted ids of datasets, stable ids or aliases, each one that a catalogue can hold
   * @param indexNames the preferred first; none: no index is looked for
   * @returns `undefined` for what is unknown, not granted or not released
   */
  findIndexedFile(
    granted: readonly string[],
    wanted: NamedFile,
    indexNames: readonly IndexName[],
  ): Promise<IndexedFile | undefined>;
}
