import type { Catalogue } from '../export/ports.ts';

/** A checksum as ingestion recorded it: lower-case hex. */
export interface Checksum {
  readonly type: 'MD5' | 'SHA256' | 'SHA384' | 'SHA512';
  readonly value: string;
}

/** A file of a dataset as the listing of direct access shows it. Sizes in bytes; absent: ingestion did not record it. */
export interface ListedFile {
  /** Stable id, `EGAF…`. */
  readonly fileId: string;
  /** Path the submitter gave; untrusted text. */
  readonly submissionFilePath: string;
  /** Bytes of the archived body, without a header. */
  readonly archiveFileSize: number | undefined;
  /** Bytes of the stored header. */
  readonly headerSize: number;
  /** Bytes of the plaintext. */
  readonly decryptedFileSize: number | undefined;
  /** Of the plaintext: the strongest recorded. */
  readonly plaintextChecksum: Checksum | undefined;
}

/** Facts about one file that only its description needs, not its delivery. */
export interface FileFacts {
  readonly decryptedFileSize: number | undefined;
  /** When the catalogue took the file up. */
  readonly createdAt: Date | undefined;
  /** Of the plaintext, strongest first. */
  readonly plaintextChecksums: readonly Checksum[];
  /** Of the archived body, strongest first. */
  readonly archivedChecksums: readonly Checksum[];
}

/** What direct access asks the catalogue beside what the export does. Every method may throw TemporarilyUnavailableError. */
export interface DirectCatalogue extends Catalogue {
  /**
   * The dataset's files that can be served, in the order of their ids, page after page; memory is bounded by one page.
   * Ends early when the dataset is no longer released: each page is read only while it is.
   */
  filesOfDataset(datasetId: string): AsyncIterable<readonly ListedFile[]>;
  /** What ingestion recorded of the file; `undefined` when there is no such file. Decides nothing about access. */
  factsOf(fileId: string): Promise<FileFacts | undefined>;
}
