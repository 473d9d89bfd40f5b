import type { Archive, BodyAddress, Catalogue, SignedUrl } from '../archive/ports.ts';

/** A checksum as ingestion recorded it: lower-case hex. */
export interface Checksum {
  readonly type: 'MD5' | 'SHA256' | 'SHA384' | 'SHA512';
  readonly value: string;
}

/** A file of a dataset, as its listing shows it. Sizes in bytes; what ingestion did not record is `undefined`. */
export interface DatasetFile {
  readonly fileId: string;
  /** Path the submitter gave; untrusted text. */
  readonly submissionFilePath: string;
  /** Of the archived body, without a header. */
  readonly archiveFileSize: number | undefined;
  readonly decryptedFileSize: number | undefined;
  /** Of the plaintext, SHA-256 before all others. */
  readonly plaintextChecksums: readonly Checksum[];
}

/** What ingestion recorded of one file, without what serving it takes. */
export interface FileFacts {
  readonly decryptedFileSize: number | undefined;
  /** When the file was entered in the catalogue. */
  readonly createdAt: Date | undefined;
  /** Of the plaintext, SHA-256 before all others. */
  readonly plaintextChecksums: readonly Checksum[];
}

/** The catalogue, with what the direct API alone asks. */
export interface DirectCatalogue extends Catalogue {
  /**
   * Files of the dataset that can be served, each once, in a stable order of the catalogue's own. They come page after page:
   * memory is bounded by one. Every page is read only while the dataset is released.
   *
   * @param after a place from {@link placeInDataset}: only the files behind it. Default: all
   * @param prefix only files whose submitted path, with `.c4gh` at its end, begins so. Default: all
   * @throws `forbidden` when the dataset is withdrawn before the last page
   */
  filesOfDataset(datasetId: string, after?: string, prefix?: string): AsyncIterable<readonly DatasetFile[]>;
  /** Where the file is in the order of {@link filesOfDataset}; `undefined` when it is not a file of the dataset. */
  placeInDataset(datasetId: string, fileId: string): Promise<string | undefined>;
  /**
   * Files of the dataset that can be served and whose submitted path is this one, where either may end in `.c4gh`; at most two.
   *
   * @param behindUser also paths that are this one behind a first folder of the form `user_domain`
   */
  filesAt(datasetId: string, path: string, behindUser: boolean): Promise<readonly DatasetFile[]>;
  /** How many files of the dataset can be served, and the bytes of their plaintexts where they are recorded. */
  totalsOf(datasetId: string): Promise<{ readonly files: number; readonly size: number }>;
  /** `undefined` when there is no such file. Decides nothing about access. */
  factsOf(fileId: string): Promise<FileFacts | undefined>;
}

/** An archived body that is being read from its start. */
export interface BegunBody {
  /** Bytes of the whole body. */
  readonly size: number;
  readonly etag: string;
  /** Breaks off by an error where S3 does. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Read access to archived bodies, with what htsget alone asks. */
export interface DirectArchive extends Archive {
  /**
   * The body from its first byte on, in one call, with its size and ETag. The consumer ends the stream by leaving it.
   *
   * @param end only bytes before this one. Default: all
   * @throws as `head`
   */
  begin(address: BodyAddress, end?: number): Promise<BegunBody>;
}

/** Presigned URLs of objects. Signing sends nothing to S3, so the object may be missing. */
export interface DirectUrls {
  /** Of a short-lived container. @param key of the grammar in `lib/contract/direct-key.ts` */
  container(key: string): Promise<SignedUrl>;
  /** Of an archived body. @param fileName what the client should call it: letters, digits, `.`, `_` and `-` */
  body(address: BodyAddress, fileName: string): Promise<SignedUrl>;
}
