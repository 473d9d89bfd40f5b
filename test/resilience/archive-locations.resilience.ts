import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CopyObjectCommand, DeleteObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decrypt, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { copyWithSettings } from '../helpers/assembly-with-settings.ts';
import { bytesOf } from '../helpers/made-files.ts';
import { Service } from '../helpers/service.ts';

/** A pipeline that fills two buckets, the second one named by `archive_location` as such a pipeline writes it. */
const second = 'archive-of-2019';
const folder = mkdtempSync(join(tmpdir(), 'data-out-locations-'));
const recipient = generateKeyPair();
/** Small, and large enough to be copied inside S3. */
const files = { 'small.vcf': 1000, 'large.bam': 9 * 1024 * 1024 };
const fileIds: Record<string, string> = {};
let service: Service;

beforeAll(async () => {
  await copyWithSettings(folder, { otherArchiveBuckets: [{ bucketName: second }] });
  service = await Service.start({ assemblyDir: folder });
  const Bucket = service.connection.outputs.ArchiveBucketName;
  for (const [path, size] of Object.entries(files)) {
    const { fileId } = await service.archive('EGAD1', path, size);
    fileIds[path] = fileId;
    const [row] = await service.sql(
      `select archive_file_path, archive_location from sda.files where stable_id = '${fileId}'`,
    );
    const [key = '', location = ''] = row ?? [];
    // The operator's tool enters the place where it put the body.
    expect(location).toBe(`${service.connection.endpoints.s3}/${Bucket}`);
    const CopySource = `${Bucket}/${key}`;
    await service.s3.send(new CopyObjectCommand({ Bucket: second, Key: String(key), CopySource }));
    await service.s3.send(new DeleteObjectCommand({ Bucket, Key: String(key) }));
    await place(fileId, `https://s3.example.org/${second}`);
  }
  await service.setDataset('EGAD1', 'released');
}, 120_000);
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function place(fileId: string, location: string): Promise<void> {
  await service.sql(`update sda.files set archive_location = '${location}' where stable_id = '${fileId}'`);
}

async function contentOf(path: keyof typeof files): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytesOf({ path, size: files[path] })) pieces.push(piece);
  return Buffer.concat(pieces);
}

test('bodies of the second bucket are exported, by put and by copies inside S3', async () => {
  const visa = await service.visa();
  await service.settled(await service.exported({ id: 'EGAD1', visa, publicKey: recipient.publicKey }), 2);
  const listed = await service.list(visa);
  expect(listed).toHaveLength(2);
  for (const path of ['small.vcf', 'large.bam'] as const) {
    const { fileName = '' } = listed.find(({ fileName }) => fileName.includes(path)) ?? {};
    const container = await service.download(visa, fileName);
    const plain: Uint8Array[] = [];
    for await (const piece of decrypt([container], { privateKeys: [recipient.privateKey] })) plain.push(piece);
    expect(Buffer.concat(plain).equals(await contentOf(path))).toBe(true);
  }
  expect(service.calls('stage-file s3 UploadPartCopy')).toBeGreaterThan(0);
});

test('they are served directly, and a URL of one is of the second bucket', async () => {
  const visa = await service.visa();
  const { status, bytes } = await service.direct(`files/${fileIds['small.vcf']}`, visa);
  expect([status, bytes.equals(await contentOf('small.vcf'))]).toEqual([200, true]);
  const { headers } = await service.direct(`files/${fileIds['small.vcf']}/content`, visa);
  expect(new URL(String(headers.location)).pathname).toMatch(new RegExp(`^/${second}/`));
  const described = await service.direct(`ga4gh/drs/v1/objects/${fileIds['small.vcf']}`, visa);
  expect(JSON.parse(described.text)).toMatchObject({ size: 1000 });
});
