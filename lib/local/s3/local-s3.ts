import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { AwsError } from '../aws/errors.ts';
import { endToEnd, readAll, send } from '../http.ts';
import type { MultipartUploads } from './multipart-uploads.ts';
import type { S3Request } from './s3-request.ts';

export interface S3Reply {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Readable | Uint8Array | string;
}

/** The embedded engine takes no more in one request. */
const requestLimit = 11 * 1024 * 1024;
/** A CompleteMultipartUpload that lists 10,000 parts, and every reply that is no object, are smaller. */
const documentLimit = 4 * 1024 * 1024;

/**
 * S3 as functions and clients of presigned URLs see it: the embedded engine, and around it what it leaves out:
 * conditional writes and copies, `MpuObjectSize`, the two multipart listings, and response header overrides.
 */
export class LocalS3 {
  readonly #port: number;
  readonly #uploads: MultipartUploads;
  readonly #now: () => Date;
  readonly #locks = new Map<string, Promise<unknown>>();

  constructor(emulatorPort: number, uploads: MultipartUploads, now: () => Date) {
    this.#port = emulatorPort;
    this.#uploads = uploads;
    this.#now = now;
  }

  /** @throws AwsError for what this part refuses; the engine's own refusals are replies. */
  async handle(s3: S3Request, request: IncomingMessage, url: string): Promise<S3Reply> {
    const { headers } = request;
    if (s3.action === 'ListMultipartUploads') return xml(this.#uploads.listUploads(s3.bucket, s3.parameters));
    if (s3.action === 'ListParts') return xml(this.#uploads.listParts(s3.bucket, s3.key, s3.parameters));
    if (Number(headers['content-length'] ?? 0) > requestLimit) {
      throw new AwsError(400, 'EntityTooLarge', 'the local S3 takes at most 11 MiB in one request; upload in parts');
    }
    if (s3.copySource) await this.#checkCopy(s3.copySource, headers);
    const writes = s3.action === 'PutObject' || s3.action === 'CompleteMultipartUpload';
    if (!writes || (!headers['if-match'] && !headers['if-none-match'])) return this.#forward(s3, request, url);
    return this.#exclusively(`${s3.bucket}/${s3.key}`, async () => {
      await this.#checkWriteCondition(s3, headers['if-match'], headers['if-none-match']);
      return this.#forward(s3, request, url);
    });
  }

  async #forward(s3: S3Request, request: IncomingMessage, url: string): Promise<S3Reply> {
    const headers = endToEnd(request.headers);
    const response = await send(
      this.#port,
      request.method ?? 'GET',
      url,
      headers,
      await this.#body(s3, request, headers),
    );
    const status = response.statusCode ?? 502;
    if (s3.action === 'GetObject') {
      return { status, headers: { ...endToEnd(response.headers), ...overrides(s3, status) }, body: response };
    }
    const body = (await readAll(response, documentLimit)) ?? Buffer.alloc(0);
    if (status === 200 || status === 204) await this.#remember(s3, request, response.headers.etag, body.toString());
    return { status, headers: endToEnd(response.headers), body };
  }

  async #body(
    s3: S3Request,
    request: IncomingMessage,
    headers: OutgoingHttpHeaders,
  ): Promise<Readable | Uint8Array | undefined> {
    if (s3.action === 'CompleteMultipartUpload') {
      const document = await readAll(request, documentLimit);
      if (!document) throw new AwsError(400, 'EntityTooLarge', 'the list of parts is too long');
      this.#checkSize(s3, document.toString(), request.headers['x-amz-mp-object-size']);
      return document;
    }
    if (request.method === 'GET' || request.method === 'HEAD' || request.method === 'DELETE') return undefined;
    // The engine fails on a body that is announced as empty; a chunked one without chunks it takes.
    if (Number(headers['content-length'] ?? 0) === 0) delete headers['content-length'];
    return request;
  }

  async #remember(s3: S3Request, { headers }: IncomingMessage, etag: string | undefined, reply: string): Promise<void> {
    const uploadId = s3.parameters.get('uploadId') ?? '';
    const partNumber = Number(s3.parameters.get('partNumber'));
    const lastModified = this.#now();
    switch (s3.action) {
      case 'CreateMultipartUpload':
        this.#uploads.started(tag(reply, 'UploadId'), s3.bucket, s3.key, lastModified);
        break;
      case 'UploadPart': {
        const size = Number(headers['x-amz-decoded-content-length'] ?? headers['content-length'] ?? 0);
        this.#uploads.partStored(uploadId, partNumber, { size, etag: etag ?? '', lastModified });
        break;
      }
      case 'UploadPartCopy': {
        const range = copyRange(headers);
        const whole = async () => (s3.copySource ? ((await this.#head(s3.copySource))?.size ?? 0) : 0);
        const size = range ? range[1] - range[0] + 1 : await whole();
        this.#uploads.partStored(uploadId, partNumber, { size, etag: tag(reply, 'ETag'), lastModified });
        break;
      }
      case 'CompleteMultipartUpload':
      case 'AbortMultipartUpload':
        this.#uploads.ended(uploadId);
    }
  }

  #checkSize(s3: S3Request, document: string, stated: string | string[] | undefined): void {
    const partNumbers = [...document.matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)].map(([, number]) => Number(number));
    const size = this.#uploads.sizeOf(s3, partNumbers);
    if (stated !== undefined && size !== Number(stated)) {
      throw new AwsError(400, 'InvalidRequest', 'The provided x-amz-mp-object-size does not match the uploaded parts');
    }
  }

  async #checkCopy(source: { bucket: string; key: string }, headers: IncomingHttpHeaders): Promise<void> {
    const found = await this.#head(source);
    // What is not there, the engine refuses itself.
    if (!found) return;
    const expected = headers['x-amz-copy-source-if-match'];
    if (expected !== undefined && bare(found.etag) !== bare(String(expected))) throw preconditionFailed();
    const [, last] = copyRange(headers) ?? [];
    if (last !== undefined && last >= found.size) {
      const message = `Range specified is not valid for source object of size: ${found.size}`;
      throw new AwsError(400, 'InvalidArgument', message);
    }
  }

  async #checkWriteCondition({ bucket, key }: S3Request, match: string | undefined, noneMatch: string | undefined) {
    const found = await this.#head({ bucket, key });
    if (noneMatch !== undefined && noneMatch !== '*') {
      throw new AwsError(501, 'NotImplemented', 'S3 knows If-None-Match: * only for writes');
    }
    if (noneMatch === '*' && found) throw preconditionFailed();
    if (match === undefined) return;
    if (!found) throw new AwsError(404, 'NoSuchKey', 'The specified key does not exist.');
    if (bare(found.etag) !== bare(match)) throw preconditionFailed();
  }

  async #head({ bucket, key }: { bucket: string; key: string }): Promise<{ etag: string; size: number } | undefined> {
    const path = `/${bucket}/${key.split('/').map(encodeURIComponent).join('/')}`;
    const response = await send(this.#port, 'HEAD', path, {}, undefined);
    response.resume();
    if (response.statusCode !== 200) return undefined;
    return { etag: response.headers.etag ?? '', size: Number(response.headers['content-length'] ?? 0) };
  }

  /** Conditional writes of one key happen one after the other, so that condition and write are one step. */
  async #exclusively<T>(key: string, action: () => Promise<T>): Promise<T> {
    const previous = this.#locks.get(key);
    const current = (async () => {
      await previous?.catch(() => {});
      return action();
    })();
    this.#locks.set(key, current);
    try {
      return await current;
    } finally {
      if (this.#locks.get(key) === current) this.#locks.delete(key);
    }
  }
}

const overridable: Readonly<Record<string, string>> = {
  'response-cache-control': 'cache-control',
  'response-content-disposition': 'content-disposition',
  'response-content-encoding': 'content-encoding',
  'response-content-language': 'content-language',
  'response-content-type': 'content-type',
  'response-expires': 'expires',
};

function overrides({ parameters }: S3Request, status: number): OutgoingHttpHeaders {
  if (status !== 200 && status !== 206) return {};
  return Object.fromEntries(
    Object.entries(overridable).flatMap(([parameter, header]) => {
      const value = parameters.get(parameter);
      return value === null ? [] : [[header, value]];
    }),
  );
}

/** First and last byte of a part that is copied; `undefined`: all of them. */
function copyRange(headers: IncomingHttpHeaders): readonly [number, number] | undefined {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(String(headers['x-amz-copy-source-range'])) ?? [];
  return first === undefined ? undefined : [Number(first), Number(last)];
}

function preconditionFailed(): AwsError {
  return new AwsError(412, 'PreconditionFailed', 'At least one of the pre-conditions you specified did not hold');
}

function xml(body: string): S3Reply {
  return { status: 200, headers: { 'content-type': 'application/xml' }, body };
}

function tag(document: string, name: string): string {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(document)?.[1]?.replace(/&quot;|&#34;/g, '"') ?? '';
}

function bare(etag: string): string {
  return etag.replace(/^"|"$/g, '');
}
