import { mkdirSync, readdirSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Bucket } from './bucket.ts';
import { completeMultipartUpload } from './complete-upload.ts';
import { DataFiles } from './data-files.ts';
import { deleteObject, deleteObjects } from './delete-objects.ts';
import { getObject } from './get-object.ts';
import { listObjectsV2 } from './list-objects.ts';
import { listMultipartUploads, listParts } from './list-uploads.ts';
import { abortMultipartUpload, createMultipartUpload, uploadPart, uploadPartCopy } from './multipart.ts';
import type { Operation, S3Reply } from './operation.ts';
import { copyObject, putObject } from './put-object.ts';
import { noSuchBucket, notImplemented } from './refusals.ts';
import type { S3Request } from './s3-request.ts';

const operations: Readonly<Record<string, Operation>> = {
  AbortMultipartUpload: abortMultipartUpload,
  CompleteMultipartUpload: completeMultipartUpload,
  CopyObject: copyObject,
  CreateMultipartUpload: createMultipartUpload,
  DeleteObject: deleteObject,
  DeleteObjects: deleteObjects,
  GetObject: getObject,
  HeadObject: getObject,
  ListMultipartUploads: listMultipartUploads,
  ListObjectsV2: listObjectsV2,
  ListParts: listParts,
  PutObject: putObject,
  UploadPart: uploadPart,
  UploadPartCopy: uploadPartCopy,
};

/** S3 on the files of a folder, as functions and clients of presigned URLs see it. */
export class LocalS3 {
  readonly #bucketsDir: string;
  readonly #files: DataFiles;
  readonly #now: () => Date;
  readonly #buckets = new Map<string, Bucket>();

  /** @param folder an earlier run may have used it */
  constructor(folder: string, now: () => Date) {
    this.#now = now;
    this.#bucketsDir = join(folder, 'buckets');
    mkdirSync(this.#bucketsDir, { recursive: true });
    this.#files = new DataFiles(join(folder, 'data'));
    for (const name of readdirSync(this.#bucketsDir)) this.#open(name);
  }

  /** Make a bucket, or find it again. @param isEncrypted whether its objects are under a KMS key */
  createBucket(name: string, isEncrypted = false): void {
    const bucket = this.#buckets.get(name) ?? this.#open(name);
    bucket.isEncrypted = isEncrypted;
  }

  /** Backdate the unfinished uploads under a prefix, so that a test need not wait. */
  backdateUploads(prefix: string, milliseconds: number): void {
    for (const bucket of this.#buckets.values()) bucket.uploads.backdate(prefix, milliseconds);
  }

  /** @throws AwsError for a refusal. */
  async handle(s3: S3Request, request: IncomingMessage): Promise<S3Reply> {
    const operation = operations[s3.action];
    if (!operation) throw notImplemented(s3.action);
    const context = { bucket: this.#find(s3.bucket), bucketNamed: (name: string) => this.#find(name), now: this.#now };
    return await operation(s3, request, context);
  }

  #find(name: string): Bucket {
    const bucket = this.#buckets.get(name);
    if (!bucket) throw noSuchBucket(name);
    return bucket;
  }

  #open(name: string): Bucket {
    const bucket = new Bucket(join(this.#bucketsDir, name), this.#files);
    this.#buckets.set(name, bucket);
    return bucket;
  }
}
