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
  readonly key: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly parts: Map<number, { readonly bytes: Uint8Array; readonly etag: string }>;
}

/**
 * An outbox bucket in memory that keeps S3's rules for multipart uploads and conditional writes, and refuses what this
 * service must not write: keys outside the grammar, unknown metadata, values that cannot be HTTP header text.
 */
export class FakeOutbox implements OutboxWriter {
  readonly objects = new Map<string, StoredObject>();
  /** Unfinished uploads by their ids. */
  readonly uploads = new Map<string, Upload>();
  /** Bytes that came from the function, and bytes that S3 copied. */
  bytesReceived = 0;
  bytesCopied = 0;
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

  remove(key: string, etag: string): Promise<'removed' | 'gone' | 'replaced'> {
    return this.#calls.run('outbox.remove', () => {
      const object = this.objects.get(key);
      if (!object) return 'gone';
      if (object.etag !== etag) return 'replaced';
      this.objects.delete(key);
      return 'removed';
    });
  }

  startUpload(key: string, metadata: Record<string, string>): Promise<MultipartUpload> {
    return this.#calls.run('outbox.startUpload', () => {
      checkedKey(key);
      this.#started += 1;
      const uploadId = `upload-${this.#started}`;
      this.uploads.set(uploadId, { key, metadata: checkedMetadata(metadata), parts: new Map() });
      return this.upload(key, metadata, uploadId);
    });
  }

  async *keysOf(recipient: string): AsyncGenerator<readonly string[]> {
    yield [...this.objects.keys()].filter((key) => key.startsWith(`${recipient}/`));
  }

  async *directKeys(): AsyncGenerator<readonly string[]> {
    yield [...this.objects.keys()].filter((key) => parseDirectKey(key));
  }

  /** An upload that S3 may no longer have. */
  upload(key: string, _metadata: Record<string, string>, uploadId: string): MultipartUpload {
    const find = (): Upload => {
      const upload = this.uploads.get(uploadId);
      if (upload?.key !== key) throw unavailable('NoSuchUpload');
      return upload;
    };
    const store = (partNumber: number, bytes: Uint8Array): UploadedPart => {
      const upload = find();
      if (!Number.isInteger(partNumber) || partNumber < 1 || partNumber > 10_000) throw new Error('InvalidArgument');
      if (bytes.length > 5 * 1024 * MiB) throw new Error('EntityTooLarge');
      this.#stored += 1;
      // As with SSE-KMS: the same part sent again has another ETag.
      const etag = `"part-${this.#stored}"`;
      upload.parts.set(partNumber, { bytes, etag });
      return { partNumber, etag, crc64nvme: undefined };
    };
    return {
      uploadId,
      uploadPart: (partNumber, bytes) =>
        this.#calls.run('upload.uploadPart', () => {
          this.bytesReceived += bytes.length;
          return store(partNumber, bytes.slice());
        }),
      copyPart: async (partNumber, source, range) => {
        this.#copiesInFlight += 1;
        try {
          return await this.#calls.run('upload.copyPart', () => store(partNumber, this.#copied(source, range)));
        } finally {
          this.#copiesInFlight -= 1;
        }
      },
      complete: (parts, size, replaces, crc64nvme) =>
        this.#calls.run('upload.complete', async () => {
          const result = await this.#complete(find(), parts, size, replaces, crc64nvme);
          if (result === 'written') this.uploads.delete(uploadId);
          return result;
        }),
      parts: () =>
        this.#calls.run('upload.parts', () => {
          const upload = this.uploads.get(uploadId);
          return (
            upload && [...upload.parts].map(([partNumber, { etag }]) => ({ partNumber, etag, crc64nvme: undefined }))
          );
        }),
      abort: () =>
        this.#calls
          .run('upload.abort', () => {
            // Parts that are still in flight would stay behind.
            if (this.#copiesInFlight > 0) throw new Error('abort while copies are in flight');
            this.uploads.delete(uploadId);
          })
          .catch((error: unknown) => {
            if (error instanceof Error && error.message.startsWith('abort while')) throw error;
          }),
    };
  }

  #copied(source: ContainerSource, { start, end }: { readonly start: number; readonly end: number }): Uint8Array {
    const { bytes, etag } = this.#archive.object(source.address);
    if (etag !== source.archiveEtag) throw unavailable('PreconditionFailed');
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
    if (named.length === 0 || named.some(({ partNumber }, index) => partNumber !== index + 1))
      throw new Error('InvalidPartOrder');
    const parts = named.map(({ partNumber, etag }) => {
      const part = upload.parts.get(partNumber);
      if (part?.etag === etag) return part.bytes;
      throw unavailable('InvalidPart');
    });
    if (parts.slice(0, -1).some((part) => part.length < 5 * MiB)) throw new Error('EntityTooSmall');
    const bytes = Buffer.concat(parts);
    if (bytes.length !== size) throw new Error('InvalidRequest: MpuObjectSize');
    await checkCrc(bytes, crc64nvme);
    return this.#write(upload.key, bytes, upload.metadata, replaces, `-${parts.length}`);
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
