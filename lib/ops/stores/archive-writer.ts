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
import { ArchiveLocationUnknownError } from '../../errors.ts';
import { storeFailure } from '../../service/stores/aws-failure.ts';
import { patient } from '../../service/stores/clients.ts';
import { bucketAt } from '../../service/stores/s3/archive-buckets.ts';

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
   *
   * @param options.expectedSize bytes to come; needed above 78 GiB, where 10,000 parts of 8 MiB end. If it is too low,
   *   the upload fails.
   */
  async upload(
    key: string,
    source: AsyncIterable<Uint8Array>,
    options: { readonly expectedSize?: number } = {},
  ): Promise<{ size: number }> {
    const partSize = Math.max(defaultPartSize, Math.ceil((options.expectedSize ?? 0) / maxParts));
    const chunks = inChunks(source, partSize)[Symbol.asyncIterator]();
    try {
      const first = await chunks.next();
      const bytes = first.done ? new Uint8Array() : first.value;
      if (bytes.length < partSize) {
        await this.#client.send(
          new PutObjectCommand({ Bucket: this.#bucket, Key: key, Body: bytes, ...checksums }),
          patient,
        );
        return { size: bytes.length };
      }
      return { size: await this.#multipart(key, bytes, chunks) };
    } catch (error) {
      throw storeFailure(error, what);
    } finally {
      await chunks.return?.(undefined);
    }
  }

  /** Whether a location of the catalogue names this bucket. @param location `undefined`: it does */
  holds(location: string | undefined): boolean {
    try {
      return bucketAt(location, [this.#bucket]) === this.#bucket;
    } catch (error) {
      if (error instanceof ArchiveLocationUnknownError) return false;
      throw error;
    }
  }

  /** Remove a body. A missing body is no error. */
  async remove(key: string): Promise<void> {
    await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key })).catch((error: unknown) => {
      throw storeFailure(error, what);
    });
  }

  async #multipart(key: string, first: Uint8Array, rest: AsyncIterator<Uint8Array>): Promise<number> {
    const upload = { Bucket: this.#bucket, Key: key };
    const { UploadId } = await this.#client.send(
      new CreateMultipartUploadCommand({ ...upload, ...checksums, ChecksumType: 'FULL_OBJECT' }),
    );
    const parts: CompletedPart[] = [];
    const inFlight = new Set<Promise<unknown>>();
    const failures: unknown[] = [];
    const send = async (partNumber: number, bytes: Uint8Array): Promise<void> => {
      const { ETag, ChecksumCRC64NVME } = await this.#client.send(
        new UploadPartCommand({ ...upload, UploadId, PartNumber: partNumber, Body: bytes, ...checksums }),
        patient,
      );
      parts[partNumber - 1] = { PartNumber: partNumber, ETag, ChecksumCRC64NVME };
    };
    try {
      let size = 0;
      let chunk: IteratorResult<Uint8Array> = { done: false, value: first };
      for (let partNumber = 1; !chunk.done; partNumber += 1) {
        if (partNumber > maxParts) throw new RangeError(`expected at most ${maxParts} parts: give the expected size`);
        size += chunk.value.length;
        const part = send(partNumber, chunk.value)
          .catch((error: unknown) => failures.push(error))
          .finally(() => inFlight.delete(part));
        inFlight.add(part);
        if (inFlight.size >= partsInFlight) await Promise.race(inFlight);
        chunk = await rest.next();
        if (failures.length > 0) throw failures[0];
      }
      await Promise.all(inFlight);
      if (failures.length > 0) throw failures[0];
      await this.#client.send(
        new CompleteMultipartUploadCommand({
          ...upload,
          UploadId,
          MpuObjectSize: size,
          MultipartUpload: { Parts: parts },
        }),
        patient,
      );
      return size;
    } catch (error) {
      // A part that arrives after the abort would stay: wait for all of them first.
      await Promise.all(inFlight);
      await this.#client.send(new AbortMultipartUploadCommand({ ...upload, UploadId })).catch(() => undefined);
      throw error;
    }
  }
}

/** Regroup bytes into chunks of exactly `size`, the last one shorter. Every chunk has memory of its own. */
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
