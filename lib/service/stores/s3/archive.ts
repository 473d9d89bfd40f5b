import { addAbortSignal, Readable } from 'node:stream';
import { GetObjectCommand, type GetObjectCommandInput, type S3Client } from '@aws-sdk/client-s3';
import { release } from '../../../common/memory.ts';
import { percentEncoded } from '../../../common/percent.ts';
import { DataOutError, damaged, unavailable } from '../../../errors.ts';
import type { BodyAddress } from '../../archive/ports.ts';
import type { DirectArchive } from '../../direct/ports.ts';
import { errorName, errorStatus, isTransient, storeFailure } from '../aws-failure.ts';
import { headObject } from './head.ts';

/** Largest single read: keeps the memory of a function constant. */
const maxReadBytes = 8 * 1024 * 1024;
/** How often a range is requested when its bytes stop coming. The SDK itself retries failures before the first byte. */
const readAttempts = 3;
/** Milliseconds in which all bytes of one read must arrive: at least 140 kB a second. */
const defaultReadTimeoutMs = 60_000;
const what = 'the archive bucket';

/** Names of the buckets with archived bodies, the default first. */
export type ArchiveBuckets = readonly [string, ...string[]];

/** Value of the environment variable `archiveBuckets`. */
export function parseArchiveBuckets(text: string): ArchiveBuckets {
  const [first = '', ...others] = text.split(',');
  return [first, ...others];
}

/**
 * The bucket that a row of the catalogue names in `archive_location`. Ingestion pipelines write `<endpoint>/<bucket>`;
 * `s3://<bucket>` and `<bucket>` are also accepted. The endpoint is ignored.
 *
 * @param location `undefined` or empty: the default bucket
 */
export function bucketAt(location: string | undefined, buckets: ArchiveBuckets): string {
  if (!location) return buckets[0];
  const [, bucket] = /^(?:s3:\/\/|(?:https?:\/\/)?[^/]+\/)?([^/]+)\/?$/.exec(location) ?? [];
  if (bucket !== undefined && buckets.includes(bucket)) return bucket;
  const message = `the archive location ${JSON.stringify(location)} names no bucket of the settings`;
  throw new DataOutError('archive_location_unknown', message);
}

/**
 * Value of `x-amz-copy-source`: bucket and key, percent-encoded segment by segment. S3 decodes it, also a `+` as a space,
 * and the SDK sends it as given. Slashes stay: they separate the segments of the key.
 */
export function copySource(bucket: string, key: string): string {
  return `${bucket}/${key.split('/').map(percentEncoded).join('/')}`;
}

interface ArchiveOptions {
  readonly client: S3Client;
  readonly buckets: ArchiveBuckets;
  /** Milliseconds after which an unfinished read is started again. @default 60,000 */
  readonly readTimeoutMs?: number;
}

/** The archived bodies, with the read that the export alone makes. */
export interface S3Archive extends DirectArchive {
  /**
   * `header` and the whole body in one piece, by one request. `size` is the body's by the catalogue, at most 8 MiB. The
   * memory is the caller's. `bodyCrc` is the CRC-64/NVME that the archive keeps of the body, base64; absent when it keeps
   * none. A body that differs from it is not given out.
   */
  readWhole(
    address: BodyAddress,
    size: number,
    header: Uint8Array,
  ): Promise<{ readonly container: Uint8Array; readonly bodyCrc?: string | undefined }>;
}

/**
 * The archived bodies. A read throws `archive_damaged` when the body is gone or is shorter than the range,
 * `temporarily_unavailable` when it was replaced (another ETag), and RangeError for a range that is negative or over 8 MiB.
 */
export function s3Archive({ client, buckets, readTimeoutMs = defaultReadTimeoutMs }: ArchiveOptions): S3Archive {
  const timeout = () => AbortSignal.timeout(readTimeoutMs);

  async function request(
    address: BodyAddress,
    part: Pick<GetObjectCommandInput, 'ChecksumMode' | 'Range' | 'IfMatch'>,
  ) {
    const object = { Bucket: bucketAt(address.archiveLocation, buckets), Key: address.archiveFilePath };
    const output = await client.send(new GetObjectCommand({ ...object, ...part })).catch((error: unknown) => {
      throw bodyDamage(error, `${object.Bucket}/${object.Key}`) ?? storeFailure(error, what);
    });
    return { ...output, stream: output.Body instanceof Readable ? output.Body : Readable.from([]) };
  }

  /** Fill `target` with the bytes that `open` begins to read, and again when they stop coming. */
  async function fillFrom<Opened extends { readonly stream: Readable }>(
    target: Uint8Array,
    open: () => Promise<Opened>,
  ) {
    for (let attempt = 1; ; attempt += 1) {
      const opened = await open();
      try {
        const present = await fill(target, addAbortSignal(timeout(), opened.stream));
        if (present === target.length) return opened;
        throw damaged(`the archived body is shorter than expected: ${present} of ${target.length} bytes`);
      } catch (error) {
        if (attempt === readAttempts || !isTransient(error)) throw storeFailure(error, what);
      }
    }
  }

  return {
    async head({ archiveLocation, archiveFilePath: key }, { checksum } = { checksum: false }) {
      const bucket = bucketAt(archiveLocation, buckets);
      const head = await headObject(client, { bucket, key, what, checksum });
      if (!head) throw bodyMissing(`${bucket}/${key}`);
      return head;
    },

    async read(address, { start, end, etag }) {
      const length = end - start;
      if (start < 0 || length < 0 || length > maxReadBytes) {
        throw new RangeError(`expected a range of at most ${maxReadBytes} bytes, got [${start}, ${end})`);
      }
      // HTTP cannot request an empty range.
      if (length === 0) return new Uint8Array();
      const bytes = Buffer.allocUnsafeSlow(length);
      await fillFrom(bytes, () => request(address, { Range: `bytes=${start}-${end - 1}`, IfMatch: etag }));
      return bytes;
    },

    async begin(address, end) {
      const range = end === undefined ? {} : { Range: `bytes=0-${end - 1}` };
      const { stream, ContentLength, ContentRange, ETag: etag } = await request(address, range);
      const size = ContentRange === undefined ? ContentLength : Number(ContentRange.split('/')[1]);
      if (size === undefined || !etag) throw new TypeError('S3 gave an object without size or ETag');
      return { size, etag, bytes: withStoreFailure(addAbortSignal(timeout(), stream)) };
    },

    async readWhole(address, size, header) {
      if (size > maxReadBytes) throw new RangeError(`expected a body of at most ${maxReadBytes} bytes, got ${size}`);
      const container = Buffer.allocUnsafeSlow(header.length + size);
      container.set(header);
      const { ChecksumCRC64NVME: bodyCrc } = await fillFrom(container.subarray(header.length), async () => {
        // The SDK compares the bytes of a whole body with the checksum that comes with them.
        const opened = await request(address, { ChecksumMode: 'ENABLED' });
        if (opened.ContentLength === size) return opened;
        opened.stream.destroy();
        throw damaged(
          `the catalogue says ${size} bytes of body, the archive has ${opened.ContentLength ?? 'an unknown number'}`,
        );
      });
      return { container, bodyCrc };
    },
  };
}

async function* withStoreFailure(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
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
    release(chunk);
  }
  return filled;
}

/**
 * The damage to an archived body that a refusal by S3 shows; `undefined` when it shows none.
 * @param object bucket and key of the body
 */
export function bodyDamage(error: unknown, object: string): DataOutError | undefined {
  const status = errorStatus(error);
  // A bucket that is gone says nothing about one body.
  if (errorName(error) === 'NoSuchBucket') {
    return new DataOutError('archive_location_unknown', `the bucket of ${object} does not exist`);
  }
  if (status === 404) return bodyMissing(object, error);
  if (status === 412) return unavailable('the archived body was replaced while it was read', { cause: error });
  if (status === 416 || isRangePastEnd(error)) return damaged('the archived body is shorter than the catalogue says');
  return undefined;
}

function bodyMissing(object: string, cause?: unknown): DataOutError {
  return damaged(`the archive has no body ${JSON.stringify(object)}, which the catalogue names`, { cause });
}

/** S3 refuses to copy a range past the end of the source with 400; a read of it is 416. */
function isRangePastEnd(error: unknown): boolean {
  return errorName(error) === 'InvalidArgument' && error instanceof Error && /^Range specified/.test(error.message);
}
