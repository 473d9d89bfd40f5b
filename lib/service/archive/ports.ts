import type { ByteRange } from '../../crypt4gh/index.ts';

/** A file of the archive, and the dataset through which it is given out. */
export interface FileReference {
  /** Stable id, `EGAF…`. */
  readonly fileId: string;
  /** Stable id of that dataset, `EGAD…`. */
  readonly datasetId: string;
}

export interface BodyAddress {
  /** `sda.files.archive_location`: names the bucket. `undefined`: the default bucket. */
  readonly archiveLocation: string | undefined;
  readonly archiveFilePath: string;
}

/** Everything that serving or staging one archived file takes. */
export interface ArchivedFile extends FileReference, BodyAddress {
  /** Path the submitter gave; untrusted text, used only to derive the outbox name. */
  readonly submissionFilePath: string;
  /** Bytes of the body as the catalogue has it. */
  readonly archiveFileSize: number;
  /** The whole Crypt4GH header, for one of the archive's keys. */
  readonly header: Uint8Array;
  /** Hash of the archive key that opens the header. `undefined`: the ingestion pipeline recorded none. */
  readonly keyHash: string | undefined;
}

/** What a caller asks for: a dataset by its stable id or an alias, or a file by its stable id. */
export type RequestedData = { readonly datasetId: string } | { readonly fileId: string };

/** The catalogue's answer to {@link Catalogue.evaluateAccess}. */
export interface AccessResult {
  /** Whether the catalogue has such a dataset, or a dataset that holds such a file. */
  readonly known: boolean;
  /** Whether any of these datasets is granted, released or not. */
  readonly granted: boolean;
  /** The wanted datasets that are granted and released, in the order of their stable ids. At most 1,000. */
  readonly entitled: readonly {
    readonly datasetId: string;
    /** Indexes of the granted ids that name it, ascending; never empty. */
    readonly namedBy: readonly number[];
  }[];
}

/** The catalogue (`sda` schema). */
export interface Catalogue {
  /**
   * Compare the wanted with the granted, in one statement. It does the same work for the unknown, the not granted and the not
   * released: its duration must not tell them apart.
   *
   * A dataset's own id wins over an alias. An alias that has expired, or that names several datasets, names none.
   *
   * @param granted ids of datasets, stable ids or aliases, each one that a catalogue can hold
   * @param wanted absent: every dataset that is granted
   */
  evaluateAccess(granted: readonly string[], wanted?: RequestedData): Promise<AccessResult>;
  /** Whether the newest event of the dataset is `released`. */
  isReleased(datasetId: string): Promise<boolean>;
  /**
   * The file, only if it belongs to the dataset and the dataset is released at this moment.
   *
   * @throws `archive_damaged` when it has no body, no size or no header in the catalogue
   */
  findReleasedFile(reference: FileReference): Promise<ArchivedFile | undefined>;
  /** Whether the dataset has more than `count` files, those included that ingestion has not finished. */
  hasMoreFiles(datasetId: string, count: number): Promise<boolean>;
}

/** Metadata of an object in the outbox, by the keys of `outboxMetadata`. */
export type ObjectMetadata = Readonly<Record<string, string>>;

export interface ObjectHead {
  readonly size: number;
  readonly etag: string;
  readonly lastModified: Date;
  readonly metadata: ObjectMetadata;
  /** CRC-64/NVME of the whole object, base64 of its 8 bytes. Absent: it was not asked for, or S3 has none. */
  readonly crc64nvme?: string | undefined;
}

/** Read access to archived bodies. */
export interface Archive {
  /**
   * @param options.checksum also ask for the CRC-64/NVME. S3 then wants the right to decrypt the body
   * @throws `archive_damaged` when the body is missing
   */
  head(address: BodyAddress, options?: { readonly checksum: boolean }): Promise<ObjectHead>;
  /** Bytes [start, end) of the body while its ETag is `etag`. Never more than 8 MiB at a time. The memory is the caller's. */
  read(address: BodyAddress, range: ByteRange & { readonly etag: string }): Promise<Uint8Array>;
}

/** The archived body that parts of a container are copied from. */
export interface ContainerSource {
  readonly address: BodyAddress;
  readonly archiveEtag: string;
  readonly bodySize: number;
  /** CRC-64/NVME of these bytes, base64. Absent: not known. */
  readonly crc64nvme?: string | undefined;
}

/**
 * The result of a conditional write. `conflict`: the key no longer holds the object that the writer saw, and nothing was
 * written (S3 answers 412, 409, or 404 to If-Match). After a lost answer, the write itself may have succeeded: look.
 */
export type WriteResult = 'written' | 'conflict';

/** The outbox as containers are written to it. An object becomes visible only when it is whole. */
export interface OutboxWriter {
  head(key: string): Promise<ObjectHead | undefined>;
  /**
   * One PutObject. `replaces` is the ETag of the object that it may replace (If-Match); `undefined`: there must be none
   * (If-None-Match: *). `crc64nvme` is the CRC-64/NVME that the bytes must have, base64; `undefined`: S3 compares nothing.
   *
   * @throws `archive_damaged` when the bytes have another CRC
   */
  put(
    key: string,
    bytes: Uint8Array,
    metadata: ObjectMetadata,
    replaces: string | undefined,
    crc64nvme?: string,
  ): Promise<WriteResult>;
  /**
   * Start a multipart upload; the bytes of every part stay invisible until `complete`. The bucket's lifecycle rule removes what a
   * lost answer leaves.
   */
  startUpload(key: string, metadata: ObjectMetadata): Promise<MultipartUpload>;
}

export interface UploadedPart {
  readonly partNumber: number;
  readonly etag: string;
  /** CRC-64/NVME of the part, base64. `undefined`: the server told none. */
  readonly crc64nvme: string | undefined;
}

/** One multipart upload in progress. Part numbers begin at 1. */
export interface MultipartUpload {
  readonly uploadId: string;
  /** Send bytes as a part (≥ 5 MiB unless it is the last). @throws with `wantsFewerCalls` when S3 asks for that */
  uploadPart(partNumber: number, bytes: Uint8Array): Promise<UploadedPart>;
  /** Let S3 copy bytes [start, end) of the archived body as a part, while its ETag is the source's. Throws as `uploadPart`. */
  copyPart(partNumber: number, source: ContainerSource, range: ByteRange): Promise<UploadedPart>;
  /** The parts that S3 has; `undefined` when it no longer has the upload. */
  parts(): Promise<readonly UploadedPart[] | undefined>;
  /**
   * Make the object of exactly these parts visible. `size` is checked by S3 (MpuObjectSize); after a lost answer, a HEAD
   * tells whether it is. `replaces` and `crc64nvme` as in `OutboxWriter.put`. After a conflict the parts still exist, to be aborted. An
   * upload that S3 cannot complete is aborted.
   *
   * @throws `archive_damaged` when the object would have another CRC
   */
  complete(
    parts: readonly UploadedPart[],
    size: number,
    replaces: string | undefined,
    crc64nvme?: string,
  ): Promise<WriteResult>;
  /** Drop all parts. Never throws: the lifecycle rule removes any that stay. */
  abort(): Promise<void>;
}

export interface ArchiveKey {
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** The archive's key pairs; several while keys rotate. */
export interface ArchiveKeys {
  /** The keys to try for a header, best match first: the key with that hash, or all when the hash is unknown. Never none. */
  candidates(keyHash: string | undefined): Promise<readonly ArchiveKey[]>;
}

export interface OpenableArchive {
  readonly archive: Archive;
  readonly archiveKeys: ArchiveKeys;
}

export interface SignedUrl {
  readonly url: string;
  /** Never later than the end of the signing credentials, where that is known. */
  readonly expiresAt: Date;
}

export type Clock = () => Date;
