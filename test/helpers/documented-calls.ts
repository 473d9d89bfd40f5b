import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { expect } from 'vitest';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import type { AwsCall, Fault } from '../../lib/local/endpoint/traffic.ts';
import { exportRows, requestIdOf } from './export-rows.ts';
import { OpenApi } from './openapi.ts';
import { type RawReply, type RawRequest, rawRequest } from './raw-http.ts';
import { bai, offset, streamed, vector, words } from './region-files.ts';
import { basic, type Service } from './service.ts';

export type ApiName = 'proxy' | 'data-out';
export type Headers = NonNullable<RawRequest['headers']>;

/** A call that succeeds. */
export interface GoodCall {
  readonly api: ApiName;
  readonly method: string;
  /** With query. */
  readonly path: string;
  readonly headers?: Headers;
  readonly body?: string | Uint8Array;
}

/** Documents of both APIs; each knows which of its statuses were seen. */
export const apis = { proxy: OpenApi.read('proxy'), 'data-out': OpenApi.read('data-out') };
export const key = Buffer.from(generateKeyPair().publicKey).toString('base64');
export const staged = 'EGAF00000000001-sample.bam.c4gh';
export const small = 'EGAF00000000011';
/** Its container is larger than what is streamed. */
export const large = 'EGAF00000000012';
/** Its plaintext is larger than what one reply carries. */
export const huge = 'EGAF00000000013';
/** A BAM and a VCF. */
export const reads = 'EGAF00000000014';
export const variants = 'EGAF00000000015';
/** A recorded export. */
export const exported = requestIdOf(1);
export const crypt4gh = 'destinationFormat=CRYPT4GH';
export const drs = 'ga4gh/drs/v1';

let service: Service;
let visa: string;
/** Path of the header of `reads`, as a piece of a ticket. */
let header: string;
/** One for each operation of the documents, as `proxy GET /files`. */
export let good: Readonly<Record<string, GoodCall>>;

/** Fill a service for `good`. @returns the visa of these calls */
export async function documentedService(around: Service): Promise<string> {
  service = around;
  visa = await service.visa();
  await service.archive('EGAD1', 'study/a.vcf', 100_000, small);
  await service.archive('EGAD1', 'study/b.bam', 6_100_000, large);
  await service.archive('EGAD1', 'study/c.bam', 10, huge);
  await Promise.all([
    grow(huge),
    service.archiveBytes('EGAD1', 'study/d.bam', streamed(vector('reads.bam')), reads),
    service.archiveBytes('EGAD1', 'study/e.vcf.gz', streamed(vector('variants.vcf.gz')), variants),
    service.archiveBytes('EGAD1', 'study/d.bam.bai', streamed(scattered)),
    service.archiveBytes('EGAD1', 'study/e.vcf.gz.tbi', streamed(scatteredTabix)),
    service.setDataset('EGAD1', 'released'),
    service.putStaged('researcher', staged, 'header and body'),
  ]);
  for (const statement of exportRows({ requestId: exported }, { staged: 1, given_up: 1, sent: 1 })) {
    await service.sql(statement);
  }
  header = `htsget/parts/${reads}/${await versionOf(reads)}.records.0_0-198_0`;
  good = goodCalls();
  return visa;
}

/** Indexes of reference `one` whose chunks lie in so many blocks that no ticket has room for their URLs. */
const scattered = bai(
  4681,
  ...Array.from({ length: 20_000 }, (_, at) => [offset(1_000 + at * 10), offset(1_001 + at * 10)] as const),
);
/** The same behind the columns and the name (Tabix § 2). */
const scatteredTabix = Buffer.concat([
  Buffer.from('TBI\x01'),
  words(1, 2, 1, 2, 0, 35, 0, 4),
  Buffer.from('one\0'),
  scattered.subarray(8),
]);

/** The version in the URLs of the file's tickets. */
async function versionOf(fileId: string): Promise<string> {
  const reply = await service.direct(`htsget/reads/${fileId}`, visa, { headers: { 'Public-Key': key } });
  return /\/([0-9a-f]{32})\./.exec(reply.text)?.[1] ?? '';
}

/** Give the archived body more than 200 MB of zeros, as copies of one part. They are never read. */
async function grow(fileId: string): Promise<void> {
  const [[path] = []] = await service.sql(`select archive_file_path from sda.files where stable_id = '${fileId}'`);
  const { s3 } = service;
  const target = { Bucket: service.connection.outputs.ArchiveBucketName, Key: path ?? '' };
  const part = 10 * 1024 * 1024;
  await s3.send(new PutObjectCommand({ ...target, Body: Buffer.alloc(part) }));
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand(target));
  const Parts = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const CopySource = `${target.Bucket}/${target.Key}`;
      const copy = { ...target, UploadId, PartNumber: index + 1, CopySource };
      const { CopyPartResult } = await s3.send(new UploadPartCopyCommand(copy));
      return { PartNumber: index + 1, ETag: CopyPartResult?.ETag };
    }),
  );
  await s3.send(new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts } }));
  await service.sql(`update sda.files set archive_file_size = ${20 * part} where stable_id = '${fileId}'`);
}

/** One for each operation of the documents. */
function goodCalls(): Record<string, GoodCall> {
  const calls: Record<string, GoodCall> = {};
  const add = (api: ApiName, operation: string, path: string, init: RawRequest = {}) => {
    const [method = ''] = operation.split(' ');
    calls[`${api} ${operation}`] = { api, method, path, ...init };
  };
  const { admin } = service.connection;
  const outbox = { headers: service.researcher(visa) };
  const direct = { headers: { Authorization: `Bearer ${visa}` } };
  const forKey = { headers: { ...direct.headers, 'Public-Key': key } };
  const posted = { body: JSON.stringify({ passports: [visa] }), headers: { 'Content-Type': 'application/json' } };
  add('proxy', 'POST /export/{archive_kind}', 'export/fega', {
    headers: { Authorization: basic(admin), 'Content-Type': 'application/json' },
    body: JSON.stringify({ id: 'EGAD404', visaToken: 'opaque', userPublicKey: key }),
  });
  const administrator = { headers: { Authorization: basic(admin) } };
  add('proxy', 'GET /export/{archive_kind}', 'export/fega', administrator);
  add('proxy', 'GET /export/{archive_kind}/{requestId}', `export/fega/${exported}`, administrator);
  add('proxy', 'GET /admin', 'admin', administrator);
  add('proxy', 'GET /files', 'files?inbox=false', outbox);
  add('proxy', 'POST /stream', 'stream', {
    headers: { ...outbox.headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ fileNames: [staged, 'nothing.c4gh'] }),
  });
  for (const method of ['GET', 'HEAD']) add('proxy', `${method} /stream/{file}`, `stream/${staged}`, outbox);
  add('proxy', 'GET /.well-known/jwks.json', '.well-known/jwks.json');
  add('data-out', 'GET /metadata/datasets', 'metadata/datasets', direct);
  add('data-out', 'GET /metadata/datasets/{datasetId}/files', 'metadata/datasets/EGAD1/files', direct);
  for (const method of ['GET', 'HEAD']) {
    add('data-out', `${method} /files/{fileId}`, `files/${small}`, direct);
    add('data-out', `${method} /files/{fileId}/{name}`, `files/${small}/a.vcf`, direct);
    add('data-out', `${method} /files/{fileId}/header`, `files/${small}/header`, forKey);
    add('data-out', `${method} /files/{fileId}/content`, `files/${small}/content`, direct);
  }
  const [object, access] = ['/objects/{object_id}', '/objects/{object_id}/access/{access_id}'];
  for (const [method, init] of [['GET', direct] as const, ['POST', posted] as const]) {
    add('data-out', `${method} /${drs}${object}`, `${drs}/objects/${small}`, init);
    add('data-out', `${method} /${drs}${access}`, `${drs}/objects/${small}/access/plaintext`, init);
  }
  add('data-out', `OPTIONS /${drs}${object}`, `${drs}/objects/${small}`);
  add('data-out', `GET /${drs}/service-info`, `${drs}/service-info`);
  const asked = { headers: { ...direct.headers, 'Content-Type': 'application/json' }, body: '{}' };
  for (const [datatype, id] of [
    ['reads', reads],
    ['variants', variants],
  ] as const) {
    add('data-out', `GET /htsget/${datatype}/{id}`, `htsget/${datatype}/${id}`, direct);
    add('data-out', `POST /htsget/${datatype}/{id}`, `htsget/${datatype}/${id}`, asked);
    add('data-out', `OPTIONS /htsget/${datatype}/{id}`, `htsget/${datatype}/${id}`);
    add('data-out', `GET /htsget/${datatype}/service-info`, `htsget/${datatype}/service-info`);
  }
  const part = '/htsget/parts/{id}/{part}';
  for (const method of ['GET', 'HEAD']) add('data-out', `${method} ${part}`, header, direct);
  add('data-out', `OPTIONS ${part}`, header);
  add('data-out', 'GET /service-info', 'service-info');
  for (const api of ['proxy', 'data-out'] as const) add(api, 'GET /openapi.json', 'openapi.json');
  return calls;
}

/** Make the call of an operation, changed, and hold the reply against the document. */
export async function call(operation: string, changes: Partial<GoodCall> = {}): Promise<RawReply> {
  const { api, method, path, headers, body } = { ...good[operation]!, ...changes };
  const { proxyUrl, dataOutUrl } = service.connection;
  const reply = await rawRequest(api === 'proxy' ? proxyUrl : dataOutUrl, path, {
    method,
    headers: headers ?? {},
    ...(body !== undefined && { body }),
  });
  const [pathAlone = ''] = `/${path}`.split('?');
  const entries = Object.entries(reply.headers).map(([name, value]) => [name, String(value)] as const);
  expect(reply.complete).toBe(true);
  await apis[api].check({ method, path: pathAlone, status: reply.status, headers: entries, body: reply.bytes });
  return reply;
}

export async function expectStatus(
  status: number,
  operation: string,
  changes: Partial<GoodCall> = {},
): Promise<RawReply> {
  const reply = await call(operation, changes);
  expect([operation, changes.path, reply.status]).toEqual([operation, changes.path, status]);
  return reply;
}

/** With `more` beside or instead of the headers of the good call. */
export function headersOf(operation: string, more: Headers): { headers: Headers } {
  return { headers: { ...good[operation]?.headers, ...more } };
}

/** Operations of the documents that have this status. */
export function having(status: number): string[] {
  return (['proxy', 'data-out'] as const).flatMap((api) =>
    apis[api].statuses.filter((one) => one.endsWith(` ${status}`)).map((one) => `${api} ${one.slice(0, -4)}`),
  );
}

/** Operations of the documents that have this status, and ask the database for what they answer. */
export function fromDatabase(status: number): string[] {
  return having(status).filter((operation) => /^data-out | GET \/export\//.test(operation));
}

/** While calls fail that match, each operation answers with this status. */
export async function whileFailing(
  fault: Fault,
  matches: (call: AwsCall) => boolean,
  operations: readonly string[],
  status: number,
) {
  const heal = service.engine.traffic.addFault((one) => (matches(one) ? fault : undefined));
  await Promise.all(operations.map((operation) => expectStatus(status, operation))).finally(heal);
}
