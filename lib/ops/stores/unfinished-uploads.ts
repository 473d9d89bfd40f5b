import {
  AbortMultipartUploadCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { errorName } from '../../service/stores/aws-failure.ts';

export interface UnfinishedUpload {
  readonly key: string;
  readonly uploadId: string;
  readonly begun: Date;
}

/** Unfinished multipart uploads to keys that begin with `prefix`. */
export async function uploadsBelow(
  client: S3Client,
  bucket: string,
  prefix: string,
): Promise<readonly UnfinishedUpload[]> {
  const uploads: UnfinishedUpload[] = [];
  let from: UploadsFrom | undefined = {};
  while (from) {
    const page: ListMultipartUploadsCommandOutput = await client.send(
      new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix, ...from }),
    );
    for (const { Key: key, UploadId: uploadId, Initiated: begun } of page.Uploads ?? []) {
      if (key && uploadId && begun) uploads.push({ key, uploadId, begun });
    }
    from = page.IsTruncated ? next(page) : undefined;
  }
  return uploads;
}

/** Abort uploads. @returns how many still existed */
export async function abortAll(
  client: S3Client,
  bucket: string,
  uploads: readonly UnfinishedUpload[],
): Promise<number> {
  let aborted = 0;
  for (const { key, uploadId } of uploads) {
    try {
      await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: uploadId }));
      aborted += 1;
    } catch (error) {
      // Completed or aborted since it was listed.
      if (errorName(error) !== 'NoSuchUpload') throw error;
    }
  }
  return aborted;
}

type UploadsFrom = Pick<ListMultipartUploadsCommandInput, 'KeyMarker' | 'UploadIdMarker'>;

function next(page: ListMultipartUploadsCommandOutput): UploadsFrom | undefined {
  const { NextKeyMarker: key, NextUploadIdMarker: uploadId } = page;
  return key ? { KeyMarker: key, UploadIdMarker: uploadId } : undefined;
}
