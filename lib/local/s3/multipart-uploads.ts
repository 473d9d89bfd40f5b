import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AwsError, escapeXml } from '../aws/errors.ts';
import type { S3Request } from './s3-request.ts';

interface Part {
  readonly size: number;
  readonly etag: string;
  readonly lastModified: Date;
}

/** A request about one upload. */
type UploadRequest = Pick<S3Request, 'bucket' | 'key' | 'parameters'>;

interface Upload {
  readonly bucket: string;
  readonly key: string;
  readonly initiated: Date;
  readonly parts: Map<number, Part>;
}

/**
 * The unfinished multipart uploads. The embedded engine has them too, but answers neither ListMultipartUploads nor
 * ListParts, and does not compare `MpuObjectSize`; so the front keeps its own account of what passes.
 */
export class MultipartUploads {
  readonly #uploads = new Map<string, Upload>();

  /** Find what an earlier run left. @param objectsDir the embedded engine's folder for S3. */
  load(objectsDir: string): void {
    const root = join(objectsDir, '_multipart');
    for (const uploadId of existsSync(root) ? readdirSync(root) : []) {
      const file = join(root, uploadId, '.upload.json');
      if (!existsSync(file)) continue;
      const { bucket, key, initiated } = readJson(file) as { bucket: string; key: string; initiated: string };
      const parts = new Map<number, Part>();
      const partsDir = join(root, uploadId, 'parts');
      for (const name of readdirSync(partsDir).filter((entry) => entry.endsWith('.meta.json'))) {
        const meta = readJson(join(partsDir, name)) as { partNumber: number; etag: string; lastModified: string };
        const { size } = statSync(join(partsDir, `${meta.partNumber}.data`));
        parts.set(meta.partNumber, { size, etag: meta.etag, lastModified: new Date(meta.lastModified) });
      }
      this.#uploads.set(uploadId, { bucket, key, initiated: new Date(initiated), parts });
    }
  }

  started(uploadId: string, bucket: string, key: string, initiated: Date): void {
    this.#uploads.set(uploadId, { bucket, key, initiated, parts: new Map() });
  }

  partStored(uploadId: string, partNumber: number, part: Part): void {
    this.#uploads.get(uploadId)?.parts.set(partNumber, part);
  }

  ended(uploadId: string): void {
    this.#uploads.delete(uploadId);
  }

  /** Let the uploads under a prefix have begun earlier: what a test does to let a visibility timeout pass. */
  backdate(prefix: string, milliseconds: number): void {
    for (const [id, upload] of this.#uploads) {
      if (!upload.key.startsWith(prefix)) continue;
      this.#uploads.set(id, { ...upload, initiated: new Date(upload.initiated.getTime() - milliseconds) });
    }
  }

  /** Bytes of the object that these parts would make. @throws AwsError NoSuchUpload. */
  sizeOf({ bucket, key, parameters }: UploadRequest, partNumbers: readonly number[]): number {
    const { parts } = this.#find(bucket, key, parameters.get('uploadId') ?? '');
    return partNumbers.reduce((sum, partNumber) => sum + (parts.get(partNumber)?.size ?? 0), 0);
  }

  /** Reply to ListMultipartUploads. */
  listUploads(bucket: string, query: URLSearchParams): string {
    if (query.has('delimiter')) throw new AwsError(501, 'NotImplemented', 'a delimiter is not known to the local S3');
    const prefix = query.get('prefix') ?? '';
    const [keyMarker, idMarker] = [query.get('key-marker') ?? '', query.get('upload-id-marker') ?? ''];
    const limit = Math.min(Number(query.get('max-uploads') ?? 1000), 1000);
    const matching = [...this.#uploads]
      .filter(([, upload]) => upload.bucket === bucket && upload.key.startsWith(prefix))
      .sort(([a, x], [b, y]) => compare(x.key, y.key) || compare(a, b))
      .filter(([id, { key }]) => key > keyMarker || (key === keyMarker && idMarker !== '' && id > idMarker));
    const page = matching.slice(0, limit);
    const last = page.at(-1);
    const next =
      last && matching.length > page.length
        ? element('NextKeyMarker', last[1].key) + element('NextUploadIdMarker', last[0])
        : '';
    return document(
      'ListMultipartUploadsResult',
      element('Bucket', bucket) +
        element('Prefix', prefix) +
        element('MaxUploads', limit) +
        element('IsTruncated', next !== '') +
        next +
        page
          .map(
            ([id, { key, initiated }]) =>
              `<Upload>${element('Key', key)}${element('UploadId', id)}${element('Initiated', initiated.toISOString())}</Upload>`,
          )
          .join(''),
    );
  }

  /** Reply to ListParts. @throws AwsError NoSuchUpload. */
  listParts(bucket: string, key: string, query: URLSearchParams): string {
    const uploadId = query.get('uploadId') ?? '';
    const upload = this.#find(bucket, key, uploadId);
    const marker = Number(query.get('part-number-marker') ?? 0);
    const limit = Math.min(Number(query.get('max-parts') ?? 1000), 1000);
    const matching = [...upload.parts].sort(([a], [b]) => a - b).filter(([partNumber]) => partNumber > marker);
    const page = matching.slice(0, limit);
    const last = page.at(-1)?.[0];
    const truncated = matching.length > page.length;
    return document(
      'ListPartsResult',
      element('Bucket', bucket) +
        element('Key', key) +
        element('UploadId', uploadId) +
        element('PartNumberMarker', marker) +
        element('MaxParts', limit) +
        element('IsTruncated', truncated) +
        (truncated ? element('NextPartNumberMarker', last ?? 0) : '') +
        page
          .map(
            ([partNumber, { size, etag, lastModified }]) =>
              `<Part>${element('PartNumber', partNumber)}${element('ETag', etag)}${element('Size', size)}` +
              `${element('LastModified', lastModified.toISOString())}</Part>`,
          )
          .join(''),
    );
  }

  #find(bucket: string, key: string, uploadId: string): Upload {
    const upload = this.#uploads.get(uploadId);
    if (upload?.bucket === bucket && upload.key === key) return upload;
    throw new AwsError(404, 'NoSuchUpload', 'The specified multipart upload does not exist.');
  }
}

function document(name: string, content: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${content}</${name}>`;
}

function element(name: string, value: string | number | boolean): string {
  return `<${name}>${escapeXml(String(value))}</${name}>`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
