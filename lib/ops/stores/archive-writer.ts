import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { forEachConcurrently } from '../../common/concurrently.ts';
import { isError } from '../../errors.ts';
import { storeFailure } from '../../service/stores/aws-failure.ts';
import { patient } from '../../service/stores/clients.ts';
import { bucketAt } from '../../service/stores/s3/archive.ts';

/** Size of a part, as long as 10,000 of them are enough. */
const defaultPartSize = 8 * 1024 * 1024;
const maxParts = 10_000;
/** Parts on their way at once. Memory is bounded by this many parts and the one being filled. */
const partsInFlight = 4;
/** S3 keeps this checksum of the whole body. An export derives the one of the container from it. */
const checksums = { ChecksumAlgorithm: 'CRC64NVME' } as const;
const what = 'the archive bucket';

/** The operator's side of the archive bucket: uploads bodies, in constant memory. */
export class S3ArchiveWriter {
  readonly location: string;
  readonly #client: S3Client;
  readonly #bucket: string;

  /** @param options.location names the bucket in the catalogue: `<endpoint>/<bucket>` */
  constructor(options: { readonly client: S3Client; readonly bucket: string; readonly location: string }) {
    this.location = options.location;
    this.#client = options.client;
    this.#bucket = options.bucket;
  }

  /**
   * Store all bytes of `source` under `key`. On failure nothing becomes visible and what was sent is dropped.
   * @param expectedSize bytes to come; needed above 78 GiB, where 10,000 parts of 8 MiB end. If it is too low, the upload fails.
   */
  async upload(key: string, source: AsyncIterable<Uint8Array>, expectedSize = 0): Promise<{ size: number }> {
    const partSize = Math.max(defaultPartSize, Math.ceil(expectedSize / maxParts));
    const chunks = inChunks(source, partSize);
    try {
      const { value: first = new Uint8Array() } = await chunks.next();
      if (first.length === partSize) return { size: await this.#multipart(key, startingWith(first, chunks)) };
      await this.#client.send(
        new PutObjectCommand({ Bucket: this.#bucket, Key: key, Body: first, ...checksums }),
        patient,
      );
      return { size: first.length };
    } catch (error) {
      throw storeFailure(error, what);
    } finally {
      await chunks.return(undefined);
    }
  }

  /** Whether a location of the catalogue names this bucket. @param location `undefined`: it does */
  holds(location: string | undefined): boolean {
    try {
      return bucketAt(location, [this.#bucket]) === this.#bucket;
    } catch (error) {
      if (isError(error, 'archive_location_unknown')) return false;
      throw error;
    }
  }

  /** Remove a body. A missing body is not an error. */
  async remove(key: string): Promise<void> {
    await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key })).catch((error: unknown) => {
      throw storeFailure(error, what);
    });
  }

  async #multipart(key: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
    const upload = { Bucket: this.#bucket, Key: key };
    const { UploadId } = await this.#client.send(
      new CreateMultipartUploadCommand({ ...upload, ...checksums, ChecksumType: 'FULL_OBJECT' }),
    );
    const parts: CompletedPart[] = [];
    let size = 0;
    let count = 0;
    try {
      await forEachConcurrently(chunks, partsInFlight, async (bytes) => {
        size += bytes.length;
        count += 1;
        const part = count;
        if (part > maxParts) throw new RangeError(`expected at most ${maxParts} parts: give the expected size`);
        const { ETag, ChecksumCRC64NVME } = await this.#client.send(
          new UploadPartCommand({ ...upload, UploadId, PartNumber: part, Body: bytes, ...checksums }),
          patient,
        );
        parts[part - 1] = { PartNumber: part, ETag, ChecksumCRC64NVME };
      });
      const whole = { ...upload, UploadId, MpuObjectSize: size, MultipartUpload: { Parts: parts } };
      await this.#client.send(new CompleteMultipartUploadCommand(whole), patient);
      return size;
    } catch (error) {
      // No part is on its way now: one that arrived after the abort would stay.
      await this.#client.send(new AbortMultipartUploadCommand({ ...upload, UploadId })).catch(() => undefined);
      throw error;
    }
  }
}

async function* startingWith<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first;
  yield* rest;
}

/** Regroup bytes into chunks of exactly `size`, the last one shorter. Every chunk has its own memory. */
export async function* inChunks(source: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  let chunk = new Uint8Array(size);
  let filled = 0;
  for await (const bytes of source) {
    for (let start = 0; start < bytes.length; ) {
      const piece = bytes.subarray(start, start + size - filled);
      chunk.set(piece, filled);
      filled += piece.length;
      start += piece.length;
      if (filled === size) {
        yield chunk;
        chunk = new Uint8Array(size);
        filled = 0;
      }
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}
