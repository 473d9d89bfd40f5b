import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { collect } from '../../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../../helpers/made-files.ts';
import { readPlainly } from '../../helpers/plain-crypt4gh.ts';
import type { RawReply, RawRequest } from '../../helpers/raw-http.ts';
import { Service } from '../../helpers/service.ts';

/** `GET /files/{fileId}?destinationFormat=CRYPT4GH`, as a client of the field meets it. */

const mebibyte = 1024 * 1024;
const recipient = generateKeyPair();
const base64Key = Buffer.from(recipient.publicKey).toString('base64');
const key = { 'Public-Key': base64Key };

let service: Service;
let visa: string;
let small: Sample;
let large: Sample;

interface Sample {
  readonly fileId: string;
  readonly plaintext: Buffer;
}

async function sample(datasetId: string, path: string, size: number): Promise<Sample> {
  const { fileId } = await service.archive(datasetId, path, size);
  return { fileId, plaintext: await collect(bytesOf({ path, size })) };
}

beforeAll(async () => {
  service = await Service.shared();
  small = await sample('EGAD1', 'run 1/small.vcf', 3_000_000);
  large = await sample('EGAD1', 'run 1/large.bam', 20 * mebibyte + 12_345);
  await service.setDataset('EGAD1', 'released');
  visa = await service.visa();
});
afterAll(() => service?.stop());

const container = ({ fileId }: Sample, init: RawRequest = {}) =>
  service.direct(`files/${fileId}?destinationFormat=CRYPT4GH`, visa, {
    ...init,
    headers: { ...key, ...init.headers },
  });
const bodyOf = async ({ fileId }: Sample) => {
  const rows = await service.sql(`select archive_file_path from sda.files where stable_id = '${fileId}'`);
  const archiveKey = rows[0]?.[0] ?? '';
  return { archiveKey, body: await service.object('ArchiveBucketName', archiveKey) };
};
const plaintextIn = (bytes: Uint8Array) => readPlainly(bytes, recipient.privateKey);

/** As a client follows a redirection: without the credentials, which S3 refuses. */
async function follow(reply: RawReply): Promise<Response> {
  expect([reply.status, reply.text]).toEqual([307, '']);
  expect(reply.headers['cache-control']).toBe('no-store');
  return fetch(reply.headers.location ?? '');
}
const bytesIn = async (response: Response) => Buffer.from(await response.arrayBuffer());
const directKeys = async () => (await service.outboxKeys()).filter((name) => name.startsWith('direct/'));

test('a small container that broke off is taken up by another call: the same tag, and together the same bytes', async () => {
  const whole = await container(small);
  const broken = await container(small, { onText: (text) => text.length < 200_000 });
  expect([broken.status, broken.complete]).toEqual([200, false]);
  const got = broken.bytes.length;
  const rest = await container(small, {
    headers: { Range: `bytes=${got}-`, 'If-Range': String(broken.headers.etag) },
  });
  expect([rest.status, rest.headers['content-range']]).toEqual([
    206,
    `bytes ${got}-${whole.bytes.length - 1}/${whole.bytes.length}`,
  ]);
  expect(Buffer.concat([broken.bytes, rest.bytes]).equals(whole.bytes)).toBe(true);
  expect(rest.headers.etag).toBe(whole.headers.etag);
});

test('a large container is made inside S3 and fetched from there; the next call finds it there', async () => {
  service.engine.traffic.resetCounters();
  const response = await follow(await container(large));
  expect(response.status).toBe(200);
  expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${large.fileId}-large.bam.c4gh"`);
  const bytes = await bytesIn(response);
  const { body } = await bodyOf(large);
  expect(bytes.subarray(124).equals(body)).toBe(true);
  expect(plaintextIn(bytes).equals(large.plaintext)).toBe(true);
  expect(await directKeys()).toEqual([
    expect.stringMatching(new RegExp(`^direct/[0-9a-f]{64}/${large.fileId}-large\\.bam\\.c4gh$`)),
  ]);
  // All but 5 MiB of the body stay inside S3.
  expect(service.calls('direct-file s3 CreateMultipartUpload')).toBe(1);
  expect(service.engine.traffic.bytesOf('direct-file', 's3')).toBeLessThan(11 * mebibyte);

  service.engine.traffic.resetCounters();
  const again = await bytesIn(await follow(await container(large)));
  expect(again.equals(bytes)).toBe(true);
  const { calls = 0 } = service.engine.traffic.counters()['direct-file s3 HeadObject'] ?? {};
  // One of the archived body, one of the container.
  expect(calls).toBe(2);
  for (const action of ['CreateMultipartUpload', 'UploadPart', 'UploadPartCopy', 'PutObject', 'GetObject']) {
    expect([action, service.calls(`direct-file s3 ${action}`)]).toEqual([action, 0]);
  }
});
