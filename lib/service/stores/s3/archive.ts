import { addAbortSignal, Readable } from 'node:stream';
import {
  GetObjectCommand,
  type GetObjectCommandInput,
  type GetObjectCommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { ByteRange } from '../../../crypt4gh/index.ts';
import { ArchiveDamagedError, BodyMissingError } from '../../../errors.ts';
import type { BodyAddress, ObjectHead } from '../../archive/ports.ts';
import type { BegunBody, DirectArchive } from '../../direct/ports.ts';
import type { ExportArchive } from '../../export/ports.ts';
import { errorName, errorStatus, isTransient, storeFailure } from '../aws-failure.ts';
import { type ArchiveBuckets, bucketAt } from './archive-buckets.ts';
import { headObject } from './head.ts';

/** Largest single read: keeps the memory of a function constant. */
const maxReadBytes = 8 * 1024 * 1024;
/** How often a range is requested when its bytes stop coming. The SDK itself retries failures before the first byte. */
const readAttempts = 3;
/** Milliseconds in which all bytes of one read must arrive: at least 140 kB a second. */
const defaultReadTimeoutMs = 60_000;
const what = 'the archive bucket';

interface Range extends ByteRange {
  readonly etag: string;
}

interface Whole {
  readonly size: number;
}

interface Opened {
  readonly stream: Readable;
  readonly crc64nvme: string | undefined;
}

export class S3Archive implements ExportArchive, DirectArchive {
  readonly #client: S3Client;
  readonly #buckets: ArchiveBuckets;
  readonly #readTimeoutMs: number;

  /** @param options.readTimeoutMs after which an unfinished read is started again. @default 60,000 */
  constructor(options: {
    readonly client: S3Client;
    readonly buckets: ArchiveBuckets;
    readonly readTimeoutMs?: number;
  }) {
    this.#client = options.client;
    this.#buckets = options.buckets;
    this.#readTimeoutMs = options.readTimeoutMs ?? defaultReadTimeoutMs;
  }

  async head(address: BodyAddress, { checksum } = { checksum: false }): Promise<ObjectHead> {
    const { Bucket: bucket, Key: key } = this.#object(address);
    const head = await headObject(this.#client, { bucket, key, what, checksum });
    if (!head) throw new BodyMissingError(`${bucket}/${key}`);
    return head;
  }

  /**
   * @throws ArchiveDamagedError when the body is gone, was replaced (another ETag) or is shorter than the range.
   * @throws ArchiveLocationUnknownError
   * @throws RangeError for a range that is negative or over 8 MiB.
   */
  async read(address: BodyAddress, range: Range): Promise<Uint8Array> {
    const length = range.end - range.start;
    if (range.start < 0 || length < 0 || length > maxReadBytes) {
      throw new RangeError(`expected a range of at most ${maxReadBytes} bytes, got [${range.start}, ${range.end})`);
    }
    // HTTP cannot request an empty range.
    if (length === 0) return new Uint8Array();
    const bytes = Buffer.allocUnsafeSlow(length);
    await this.#get(address, range, bytes);
    return bytes;
  }

  async begin(address: BodyAddress, end?: number): Promise<BegunBody> {
    const { stream, output } = await this.#request(address, end === undefined ? {} : { Range: `bytes=0-${end - 1}` });
    const { ContentLength, ContentRange, ETag: etag } = output;
    const size = ContentRange === undefined ? ContentLength : Number(ContentRange.split('/')[1]);
    if (size === undefined || !etag) throw new TypeError('S3 gave an object without size or ETag');
    return { size, etag, bytes: told(addAbortSignal(AbortSignal.timeout(this.#readTimeoutMs), stream)) };
  }

  /** @throws RangeError for a size over 8 MiB */
  async readWhole(
    address: BodyAddress,
    size: number,
    header: Uint8Array,
  ): Promise<{ container: Uint8Array; bodyCrc?: string }> {
    if (size > maxReadBytes) throw new RangeError(`expected a body of at most ${maxReadBytes} bytes, got ${size}`);
    const bytes = Buffer.allocUnsafeSlow(header.length + size);
    bytes.set(header);
    const bodyCrc = await this.#get(address, { size }, bytes.subarray(header.length));
    return { container: bytes, ...(bodyCrc && { bodyCrc }) };
  }

  /** Fills `target`. @returns the CRC-64/NVME of a whole body, where S3 has one */
  async #get(address: BodyAddress, wanted: Range | Whole, target: Uint8Array): Promise<string | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const { stream, crc64nvme } = await this.#open(address, wanted);
      try {
        const present = await fill(target, addAbortSignal(AbortSignal.timeout(this.#readTimeoutMs), stream));
        if (present === target.length) return crc64nvme;
        throw new ArchiveDamagedError(
          `the archived body is shorter than expected: ${present} of ${target.length} bytes`,
        );
      } catch (error) {
        if (attempt === readAttempts || !isTransient(error)) throw storeFailure(error, what);
      }
    }
  }

  async #open(address: BodyAddress, wanted: Range | Whole): Promise<Opened> {
    // The SDK compares the bytes of a whole body with the checksum that comes with them.
    const part =
      'size' in wanted
        ? { ChecksumMode: 'ENABLED' as const }
        : { Range: `bytes=${wanted.start}-${wanted.end - 1}`, IfMatch: wanted.etag };
    const { stream, output } = await this.#request(address, part);
    const { ContentLength, ChecksumCRC64NVME } = output;
    if (!('size' in wanted) || ContentLength === wanted.size) return { stream, crc64nvme: ChecksumCRC64NVME };
    stream.destroy();
    throw new ArchiveDamagedError(
      `the catalogue says ${wanted.size} bytes of body, the archive has ${ContentLength ?? 'an unknown number'}`,
    );
  }

  async #request(
    address: BodyAddress,
    part: Pick<GetObjectCommandInput, 'ChecksumMode' | 'Range' | 'IfMatch'>,
  ): Promise<{ readonly stream: Readable; readonly output: GetObjectCommandOutput }> {
    const object = this.#object(address);
    const output = await this.#client.send(new GetObjectCommand({ ...object, ...part })).catch((error: unknown) => {
      throw bodyDamage(error, `${object.Bucket}/${object.Key}`) ?? storeFailure(error, what);
    });
    return { stream: output.Body instanceof Readable ? output.Body : Readable.from([]), output };
  }

  #object({ archiveLocation, archiveFilePath }: BodyAddress): { Bucket: string; Key: string } {
    return { Bucket: bucketAt(archiveLocation, this.#buckets), Key: archiveFilePath };
  }
}

async function* told(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* bytes;
  } catch (error) {
    throw storeFailure(error, what);
  }
}

/** Fills `target` as the bytes arrive: gathering them first would take the memory twice. @returns how many arrived */
async function fill(target: Uint8Array, body: AsyncIterable<Uint8Array>): Promise<number> {
  let filled = 0;
  for await (const chunk of body) {
    target.set(chunk.subarray(0, target.length - filled), filled);
    filled += chunk.length;
  }
  return filled;
}

/**
 * The damage to an archived body that a refusal by S3 shows; `undefined` when it shows none.
 * @param object bucket and key of the body
 */
export function bodyDamage(error: unknown, object: string): ArchiveDamagedError | undefined {
  const status = errorStatus(error);
  // A bucket that is gone says nothing about one body.
  if (errorName(error) === 'NoSuchBucket') return new ArchiveDamagedError(`the bucket of ${object} does not exist`);
  if (status === 404) return new BodyMissingError(object, { cause: error });
  if (status === 412) return new ArchiveDamagedError('the archived body was replaced while it was read');
  if (status === 416 || isRangePastEnd(error))
    return new ArchiveDamagedError('the archived body is shorter than the catalogue says');
  return undefined;
}

/** S3 refuses to copy a range past the end of the source with 400; a read of it is 416. */
function isRangePastEnd(error: unknown): boolean {
  return errorName(error) === 'InvalidArgument' && error instanceof Error && /^Range specified/.test(error.message);
}
