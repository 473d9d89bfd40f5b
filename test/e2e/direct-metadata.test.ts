import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AwsCall, Fault } from '../../lib/local/endpoint/traffic.ts';
import type { AddedFile } from '../../lib/ops/archive/add-file.ts';
import { bytesOf } from '../helpers/made-files.ts';
import type { RawReply } from '../helpers/raw-http.ts';
import { Service } from '../helpers/service.ts';

/** `GET /metadata/datasets` and `…/{datasetId}/files`, and the authorizer before every route of the data-out API. */

let service: Service;
let visa: string;
let added: AddedFile;
const many = 2500;

beforeAll(async () => {
  service = await Service.shared();
  added = await service.archive('EGAD1', 'study/räw data.bam', 100_000);
  await service.archive('EGAD2', 'other.txt', 10);
  await service.sql(`insert into sda.datasets (id, stable_id) values (100, 'EGAD100'), (101, 'EGAD101')`);
  await service.sql(`insert into sda.dataset_references (dataset_id, reference_id, reference_scheme)
    values (100, 'https://doi.example.org/10.1/x', 'DOI')`);
  await service.sql(`insert into sda.files (stable_id, submission_file_path, archive_file_path, archive_file_size, header)
    select 'EGAF' || to_char(n, 'FM00000000000'), 'dir/' || n || '.vcf', 'body', n, '00' from generate_series(1, ${many}) n`);
  await service.sql(`insert into sda.file_dataset (file_id, dataset_id)
    select id, 100 from sda.files where archive_file_path = 'body'`);
  for (const id of ['EGAD1', 'EGAD100', 'EGAD101']) await service.setDataset(id, 'released');
  visa = await service.visa({ datasetId: 'EGAD1' });
});
afterAll(() => service?.stop());

/** A passport for several datasets. */
async function passportFor(...datasetIds: readonly string[]): Promise<string> {
  const visas = await Promise.all(datasetIds.map((datasetId) => service.visa({ datasetId })));
  return service.passport('researcher', visas);
}

interface Entry {
  readonly fileId: string;
  readonly fileSize: number | null;
}

function json<T>(reply: RawReply): T {
  expect([reply.status, reply.complete, reply.text.slice(0, 300)]).toEqual([200, true, expect.any(String)]);
  expect(reply.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
  return JSON.parse(reply.text) as T;
}

describe('the datasets of a caller', () => {
  test('are those that are granted and released, in the order of their ids', async () => {
    const token = await passportFor('EGAD2', 'EGAD100', 'EGAD1', 'EGAD404');
    expect(json(await service.direct('metadata/datasets', token))).toEqual(['EGAD1', 'EGAD100']);
    expect(json(await service.direct('metadata/datasets', visa))).toEqual(['EGAD1']);
  });
});

describe('the files of a dataset', () => {
  test('have the members that clients in the field read', async () => {
    const plaintext = createHash('sha256');
    for await (const piece of bytesOf({ path: 'study/räw data.bam', size: 100_000 })) plaintext.update(piece);
    expect(json(await service.direct('metadata/datasets/EGAD1/files', visa))).toEqual([
      {
        fileId: added.fileId,
        datasetId: 'EGAD1',
        displayFileName: 'räw data.bam',
        fileName: 'study/räw data.bam',
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

  test('are listed whole, each exactly once, over several pages of the database', async () => {
    service.engine.traffic.resetCounters();
    const entries = json<Entry[]>(
      await service.direct('metadata/datasets/EGAD100/files', await passportFor('EGAD100')),
    );
    expect(new Set(entries.map(({ fileId }) => fileId)).size).toBe(many);
    expect(entries.map(({ fileSize }) => fileSize ?? 0).reduce((sum, size) => sum + size, 0)).toBe(
      (many * (many + 1)) / 2,
    );
    expect(service.calls('datasets rds-data ExecuteStatement')).toBeLessThan(12);
  });

  test('are found by an alias in the path, percent-encoded as one segment', async () => {
    const alias = encodeURIComponent('https://doi.example.org/10.1/x');
    const entries = json<{ datasetId: string }[]>(
      await service.direct(`metadata/datasets/${alias}/files`, await passportFor('EGAD100')),
    );
    expect(entries.length).toBe(many);
    expect(entries[0]?.datasetId).toBe('EGAD100');
  });

  test.each([
    ['fails', { error: { status: 400, code: 'BadRequestException' } }],
    ['refuses', { error: { status: 403, code: 'AccessDeniedException' } }],
  ])('the database %s on the second page: the reply breaks off and is not JSON', async (_, fault: Fault) => {
    let pages = 0;
    const heal = service.engine.traffic.addFault((call) => {
      if (call.caller !== 'datasets' || !sqlOf(call).includes('row_number()')) return undefined;
      pages += 1;
      return pages > 1 ? fault : undefined;
    });
    const reply = await service.direct('metadata/datasets/EGAD100/files', await passportFor('EGAD100')).finally(heal);
    expect([reply.status, reply.complete]).toEqual([200, false]);
    expect(() => JSON.parse(reply.text)).toThrow(SyntaxError);
  });
});

function sqlOf(call: AwsCall): string {
  return JSON.stringify(call.input ?? '');
}
