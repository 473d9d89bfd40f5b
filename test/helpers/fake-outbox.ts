import { hash } from 'node:crypto';
import { crcOf, formatCrc } from '../../lib/common/crc64nvme.ts';
import { parseDirectKey } from '../../lib/contract/direct-key.ts';
import { outboxMetadata, parseOutboxKey } from '../../lib/contract/outbox-key.ts';
import { damaged, unavailable } from '../../lib/errors.ts';
import type {
  ContainerSource,
  MultipartUpload,
  ObjectHead,
  OutboxWriter,
  UploadedPart,
  WriteResult,
} from '../../lib/service/archive/ports.ts';
import type { FakeArchive } from './fake-archive.ts';
import type { PortCalls } from './port-calls.ts';

const MiB = 1024 * 1024;
const metadataKeys = new Set<string>(Object.values(outboxMetadata));

interface StoredObject {
  readonly bytes: Uint8Array;
  readonly etag: string;
  readonly lastModified: Date;
  readonly metadata: Readonly<Record<string, string>>;
}

interface Upload {
  readonly uploadId: string;
  readonly key: string;
  readonly startedAt: Date;
  readonly metadata: Readonly<Record<string, string>>;
  readonly parts: Map<number, { readonly bytes: Uint8Array; readonly etag: string }>;
}

/**
 * An outbox bucket in memory that keeps S3's rules for multipart uploads and conditional writes, and refuses what this
 * service must not write: keys outside the grammar, unknown metadata, values that cannot be HTTP header text.
 */
export class FakeOutbox implements OutboxWriter {
  readonly objects = new Map<string, StoredObject>();
  readonly uploads = new Set<Upload>();
  /** Bytes that came from the function, and bytes that S3 copied. */
  bytesReceived = 0;
  bytesCopied = 0;
  mostCopiesInFlight = 0;
  /** How often an object became visible. */
  writes = 0;
  now = new Date('2026-11-21T10:00:00.000Z');
  readonly #calls: PortCalls;
  readonly #archive: FakeArchive;
  #copiesInFlight = 0;
  #started = 0;
  #stored = 0;

  constructor(calls: PortCalls, archive: FakeArchive) {
    this.#calls = calls;
    this.#archive = archive;
  }

  head(key: string): Promise<ObjectHead | undefined> {
    return this.#calls.run('outbox.head', async () => {
      const object = this.objects.get(key);
      return object && { ...object, size: object.bytes.length, crc64nvme: await checksumOf(object.bytes) };
    });
  }

  put(
    key: string,
    bytes: Uint8Array,
    metadata: Record<string, string>,
    replaces?: string,
    crc64nvme?: string,
  ): Promise<WriteResult> {
    return this.#calls.run('outbox.put', async () => {
      if (bytes.length > 5 * 1024 * MiB) throw new Error('EntityTooLarge');
      this.bytesReceived += bytes.length;
      await checkCrc(bytes, crc64nvme);
      return this.#write(key, bytes.slice(), checkedMetadata(metadata), replaces, '');
    });
  }

  startUpload(key: string, metadata: Record<string, string>): Promise<MultipartUpload> {
    return this.#calls.run('outbox.startUpload', () => {
      checkedKey(key);
      this.#started += 1;
      const uploadId = `upload-${this.#started}`;
      const upload: Upload = {
        uploadId,
        key,
        startedAt: this.now,
        metadata: checkedMetadata(metadata),
        parts: new Map(),
      };
      this.uploads.add(upload);
      return this.#multipart(upload);
    });
  }

  resumeUpload(key: string, _: Record<string, string>, uploadId: string): Promise<MultipartUpload | undefined> {
    return this.#calls.run('outbox.resumeUpload', () => {
      const upload = [...this.uploads].find((one) => one.uploadId === uploadId && one.key === key);
      return upload && this.#multipart(upload);
    });
  }

  abortUpload(key: string, uploadId: string): Promise<void> {
    return this.#calls.run('outbox.abortUpload', () => {
      for (const upload of this.uploads) {
        if (upload.uploadId === uploadId && upload.key === key) this.uploads.delete(upload);
      }
    });
  }

  abortUploads(key: string, olderThan: Date, kept: ReadonlySet<string> = new Set()): Promise<number> {
    return this.#calls.run('outbox.abortUploads', () => {
      const old = [...this.uploads].filter(
        (upload) => upload.key === key && upload.startedAt < olderThan && !kept.has(upload.uploadId),
      );
      for (const upload of old) this.uploads.delete(upload);
      return old.length;
    });
  }

  #multipart(upload: Upload): MultipartUpload {
    const store = (partNumber: number, bytes: Uint8Array): UploadedPart => {
      if (!this.uploads.has(upload)) throw unavailable('NoSuchUpload');
      if (!Number.isInteger(partNumber) || partNumber < 1 || partNumber > 10_000) throw new Error('InvalidArgument');
      if (bytes.length > 5 * 1024 * MiB) throw new Error('EntityTooLarge');
      this.#stored += 1;
      // As with SSE-KMS: the same part sent again has another ETag.
      const etag = `"part-${this.#stored}"`;
      upload.parts.set(partNumber, { bytes, etag });
      return { partNumber, etag, crc64nvme: undefined };
    };
    return {
      uploadId: upload.uploadId,
      uploadPart: (partNumber, bytes) =>
        this.#calls.run('upload.uploadPart', () => {
          this.bytesReceived += bytes.length;
          return store(partNumber, bytes.slice());
        }),
      copyPart: async (partNumber, source, range) => {
        this.#copiesInFlight += 1;
        this.mostCopiesInFlight = Math.max(this.mostCopiesInFlight, this.#copiesInFlight);
        try {
          return await this.#calls.run('upload.copyPart', () => store(partNumber, this.#copied(source, range)));
        } finally {
          this.#copiesInFlight -= 1;
        }
      },
      complete: (parts, size, replaces, crc64nvme) =>
        this.#calls.run('upload.complete', () => this.#complete(upload, parts, size, replaces, crc64nvme)),
      abort: () =>
        this.#calls
          .run('upload.abort', () => {
            // Parts that are still in flight would stay behind.
            if (this.#copiesInFlight > 0) throw new Error('abort while copies are in flight');
            this.uploads.delete(upload);
          })
          .catch((error: unknown) => {
            if (error instanceof Error && error.message.startsWith('abort while')) throw error;
          }),
    };
  }

  #copied(source: ContainerSource, { start, end }: { readonly start: number; readonly end: number }): Uint8Array {
    const { bytes, etag } = this.#archive.object(source.address);
    if (etag !== source.archiveEtag) throw damaged('PreconditionFailed');
    if (bytes.length <= 5 * MiB) throw new Error('InvalidRequest: not supported as a byte-range copy source');
    if (start < 0 || start >= end || end > bytes.length) throw new Error('InvalidRange');
    this.bytesCopied += end - start;
    return bytes.subarray(start, end);
  }

  async #complete(
    upload: Upload,
    named: readonly UploadedPart[],
    size: number,
    replaces: string | undefined,
    crc64nvme: string | undefined,
  ): Promise<WriteResult> {
    if (!this.uploads.has(upload)) throw unavailable('NoSuchUpload');
    if (named.length === 0 || named.some(({ partNumber }, index) => partNumber !== index + 1))
      throw new Error('InvalidPartOrder');
    const parts = named.map(({ partNumber, etag }) => {
      const part = upload.parts.get(partNumber);
      if (part?.etag === etag) return part.bytes;
      this.uploads.delete(upload);
      throw unavailable('InvalidPart');
    });
    if (parts.slice(0, -1).some((part) => part.length < 5 * MiB)) throw new Error('EntityTooSmall');
    const bytes = Buffer.concat(parts);
    if (bytes.length !== size) throw new Error('InvalidRequest: MpuObjectSize');
    await checkCrc(bytes, crc64nvme).catch((error: unknown) => {
      this.uploads.delete(upload);
      throw error;
    });
    const result = this.#write(upload.key, bytes, upload.metadata, replaces, `-${parts.length}`);
    if (result === 'written') this.uploads.delete(upload);
    return result;
  }

  #write(
    key: string,
    bytes: Uint8Array,
    metadata: StoredObject['metadata'],
    replaces: string | undefined,
    tag: string,
  ): WriteResult {
    checkedKey(key);
    if (this.objects.get(key)?.etag !== replaces) return 'conflict';
    this.writes += 1;
    // As with SSE-KMS, the ETag says nothing about the bytes: the same bytes written again have another one.
    const etag = `"outbox-${this.writes}${tag}"`;
    this.objects.set(key, { bytes, etag, lastModified: this.now, metadata });
    return 'written';
  }
}

function checkedKey(key: string): void {
  if (!parseOutboxKey(key) && !parseDirectKey(key)) throw new Error('a key outside the grammar of the outbox');
}

function checkedMetadata(metadata: Record<string, string>): StoredObject['metadata'] {
  for (const [key, value] of Object.entries(metadata)) {
    if (!metadataKeys.has(key)) throw new Error(`unknown metadata ${key}`);
    if (!/^[\x21-\x7e]+$/.test(value)) throw new Error(`metadata ${key} is not header text`);
  }
  return { ...metadata };
}

/** By their SHA-1, which takes a fifth of the time: tests write the same bytes again and again. */
const checksums = new Map<string, string>();

async function checksumOf(bytes: Uint8Array): Promise<string> {
  const digest = hash('sha1', bytes);
  const checksum = checksums.get(digest) ?? formatCrc(await crcOf(bytes));
  checksums.set(digest, checksum);
  return checksum;
}

async function checkCrc(bytes: Uint8Array, crc64nvme: string | undefined): Promise<void> {
  if (crc64nvme === undefined || crc64nvme === (await checksumOf(bytes))) return;
  throw damaged('BadDigest');
}
