import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { copyWithSettings } from '../helpers/assembly-with-settings.ts';
import { Service } from '../helpers/service.ts';

/** The service with the setting `outboxQuotaGib`. The catalogue says that a file is large: nothing of it is ever staged. */
const folder = mkdtempSync(join(tmpdir(), 'data-out-quota-'));
const { publicKey } = generateKeyPair();
let service: Service;

beforeAll(async () => {
  await copyWithSettings(folder, { outboxQuotaGib: 1 });
  service = await Service.start({ assemblyDir: folder });
  for (const id of ['EGAD1', 'EGAD2']) {
    await service.archive(id, `${id}.bam`, 1000);
    await service.setDataset(id, 'released');
  }
  await service.sql(
    "update sda.files set archive_file_size = 1073741824 where submission_file_path like '%EGAD2.bam%'",
  );
}, 120_000);
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const ask = async (id: string, subject: string) =>
  service.exported({ id, visa: await service.visa({ subject, datasetId: id }), publicKey });

test('a request within the quota is staged, and one beyond it is rejected and stages nothing', async () => {
  const staged = await service.settled(await ask('EGAD1', 'jane'), 1);
  expect(staged.at(-1)).toMatchObject({ event: 'staged', datasetId: 'EGAD1' });
  const before = await service.outboxKeys('jane');

  const rejected = await service.settled(await ask('EGAD2', 'jane'));
  expect(rejected).toEqual([
    expect.objectContaining({ event: 'rejected', reason: 'outbox_quota_exceeded', datasetId: 'EGAD2' }),
  ]);
  expect(await service.outboxKeys('jane')).toEqual(before);
});
