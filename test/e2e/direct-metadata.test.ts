import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AddedFile } from '../../lib/ops/archive/add-file.ts';
import { bytesOf } from '../helpers/made-files.ts';
import { Service } from '../helpers/service.ts';

/** `GET /metadata/datasets/{datasetId}/files` */

let service: Service;
let added: AddedFile;

beforeAll(async () => {
  service = await Service.shared();
  added = await service.archive('EGAD1', 'study/räw data.bam', 100_000);
  await service.sql(`insert into sda.datasets (id, stable_id) values (100, 'EGAD100')`);
  await service.sql(`insert into sda.files (stable_id, submission_file_path, archive_file_path, archive_file_size, header)
    select 'EGAF' || to_char(n, 'FM00000000000'), 'dir/' || n || '.vcf', 'body', n, '00' from generate_series(1, 1100) n`);
  await service.sql(`insert into sda.file_dataset (file_id, dataset_id)
    select id, 100 from sda.files where archive_file_path = 'body'`);
  for (const id of ['EGAD1', 'EGAD100']) await service.setDataset(id, 'released');
});
afterAll(() => service?.stop());

const list = async (datasetId: string) =>
  await service.direct(`metadata/datasets/${datasetId}/files`, await service.visa({ datasetId }));

test('files have the members that clients in the field read', async () => {
  const plaintext = createHash('sha256');
  for await (const piece of bytesOf({ path: 'study/räw data.bam', size: 100_000 })) plaintext.update(piece);
  const reply = await list('EGAD1');
  expect(reply.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
  expect(JSON.parse(reply.text)).toEqual([
    {
      fileId: added.fileId,
      datasetId: 'EGAD1',
      displayFileName: 'räw data.bam',
      fileName: 'study/räw data.bam',
      filePath: 'study/räw data.bam.c4gh',
      // Two segments, each with a nonce and a MAC (Crypt4GH § 3.3).
      fileSize: 100_000 + 2 * 28,
      unencryptedChecksum: null,
      unencryptedChecksumType: null,
      decryptedFileSize: 100_000,
      decryptedFileChecksum: plaintext.digest('hex'),
      decryptedFileChecksumType: 'SHA256',
      fileStatus: 'READY',
    },
  ]);
});

test('the database refuses the second page: the reply breaks off and is not JSON', async () => {
  let pages = 0;
  const heal = service.engine.traffic.addFault(({ caller, input }) => {
    if (caller !== 'datasets' || !JSON.stringify(input ?? '').includes('row_number()')) return undefined;
    pages += 1;
    return pages > 1 ? { error: { status: 403, code: 'AccessDeniedException' } } : undefined;
  });
  const reply = await list('EGAD100').finally(heal);
  expect([reply.status, reply.complete]).toEqual([200, false]);
  expect(() => JSON.parse(reply.text)).toThrow(SyntaxError);
});
