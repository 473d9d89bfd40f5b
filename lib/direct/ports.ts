import type { BodyAddress, Catalogue, FileReference } from '../archive/ports.ts';
import type { FileDescription } from '../contract/describe-file.ts';

/** A checksum as ingestion recorded it: lower-case hex. */
export interface Checksum {
  readonly type: 'MD5' | 'SHA256' | 'SHA384' | 'SHA512';
  readonly value: string;
}

/** A file of a dataset, as its listing shows it. Sizes in bytes; what ingestion did not record is `undefined`. */
export interface DatasetFile {
  /** Stable id, `EGAF…`. */
  readonly fileId: string;
  /** Path the submitter gave; untrusted text. */
  readonly submissionFilePath: string;
  /** Of the archived body, without a header. */
  readonly archiveFileSize: number | undefined;
  readonly decryptedFileSize: number | undefined;
  /** Of the plaintext, SHA-256 before all others. */
  readonly plaintextChecksums: readonly Checksum[];
}

/** What ingestion recorded of one file, beside what it takes to serve it. */
export interface FileFacts {
  readonly decryptedFileSize: number | undefined;
  /** When the catalogue took the file up. */
  readonly createdAt: Date | undefined;
  /** Of the plaintext, SHA-256 before all others. */
  readonly plaintextChecksums: readonly Checksum[];
  /** Of the archived body, in the same order. */
  readonly archivedChecksums: readonly Checksum[];
}

/** What direct access asks the catalogue beside what the export does. Every method may throw TemporarilyUnavailableError. */
export interface DirectCatalogue extends Catalogue {
  /**
   * Files of the dataset that can be served, each once, in an order of the catalogue's own that stays the same; page
   * after page, memory is bounded by one. Every page is read only while the dataset is released.
   *
   * @throws ForbiddenError when the dataset is withdrawn before the last page
   */
  filesOfDataset(datasetId: string): AsyncIterable<readonly DatasetFile[]>;
  /** `undefined` when there is no such file. Decides nothing about access. */
  factsOf(fileId: string): Promise<FileFacts | undefined>;
}

/** What can be told of files only by opening their headers, which takes the archive's keys. */
export interface FileDescriptions {
  /**
   * Of a file that the caller may have. The release is looked at once more.
   *
   * @throws ForbiddenError when it is withdrawn meanwhile; ArchiveDamagedError, TemporarilyUnavailableError
   */
  describe(reference: FileReference): Promise<FileDescription>;
}

/** A presigned URL for GET. */
export interface SignedUrl {
  readonly url: string;
  /** Never later than the end of the signing credentials, where that is known. */
  readonly expiresAt: Date;
}

/** Presigned URLs of objects. Signing asks S3 nothing: it does not say whether the object is there. */
export interface DirectUrls {
  /** Of a short-lived container. @param key of the grammar in `lib/contract/direct-key.ts` */
  container(key: string): Promise<SignedUrl>;
  /** Of an archived body. @param fileName what the client should call it: letters, digits, `.`, `_` and `-` */
  body(address: BodyAddress, fileName: string): Promise<SignedUrl>;
}
