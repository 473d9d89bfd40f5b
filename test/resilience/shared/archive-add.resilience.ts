import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sha256 } from '../../helpers/crypt4gh-vectors.ts';
import { opsProcess, type ProcessChoices } from '../../helpers/ops-process.ts';
import { Service } from '../../helpers/service.ts';

const datasetId = 'EGAD00000000001';
/** The tool's default. */
const parallel = 4;
let service: Service;
let folder: string;
const contents = new Map(
  Array.from({ length: 60 }, (_, index) => [`${index % 7}/sample ${index}.vcf`, `content of file ${index}\n`] as const),
);

beforeAll(async () => {
  service = await Service.shared();
  folder = await mkdtemp(join(tmpdir(), 'data-out-archive-add-'));
  for (const [path, content] of contents) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  await writeFile(join(folder, 'files.csv'), ['path', ...contents.keys()].join('\n'));
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const run = (argv: readonly string[], choices: Partial<ProcessChoices> = {}) =>
  opsProcess(['archive', ...argv], { connectionPath: service.engine.connectionPath, ...choices });
const addFolder = (choices: Partial<ProcessChoices> = {}) =>
  run(['add', folder, '--manifest', join(folder, 'files.csv'), '--dataset', datasetId, '--json'], choices);
const summaryIn = (stdout: string) => JSON.parse(stdout.trim().split('\n').at(-1) ?? '').summary;
const rows = async () => new Set((await service.sql('select archive_file_path from sda.files')).flat());

async function bodies(): Promise<Set<string>> {
  const Bucket = service.connection.outputs.ArchiveBucketName;
  const { Contents = [] } = await service.s3.send(new ListObjectsV2Command({ Bucket }));
  return new Set(Contents.map(({ Key = '' }) => Key));
}

test('a manifest of 60 files, killed and given again: each file once, and nothing is sent twice', async () => {
  let sent = 0;
  const stop = service.engine.traffic.observe(({ caller, action }) => {
    if (caller === 'operator' && action === 'PutObject') sent += 1;
  });
  const { exitCode } = await addFolder({
    onStart: (child) => {
      const timer = setInterval(() => {
        if (sent < 20) return;
        clearInterval(timer);
        child.kill('SIGKILL');
      }, 1);
    },
  });
  expect(exitCode).toBeNull();
  const before = await rows();
  expect(before.size).toBeGreaterThan(10);
  expect(before.size).toBeLessThan(contents.size);
  // At most the files in flight have lost their work, and every row has its body.
  const kept = await bodies();
  expect([...before].filter((key) => !kept.has(key ?? ''))).toEqual([]);
  expect(kept.size - before.size).toBeLessThanOrEqual(parallel);

  sent = 0;
  const again = await addFolder();
  expect(again.exitCode).toBe(0);
  const { added, unchanged, failed } = summaryIn(again.stdout);
  expect([added + unchanged, failed]).toEqual([contents.size, 0]);
  expect(unchanged).toBeGreaterThanOrEqual(before.size);
  expect(sent).toBe(added);
  sent = 0;
  expect(summaryIn((await addFolder()).stdout)).toMatchObject({ added: 0, unchanged: contents.size, failed: 0 });
  expect(sent).toBe(0);
  stop();

  const archived = await service.sql(
    `select f.submission_file_path, c.checksum from sda.files f join sda.checksums c on c.file_id = f.id
     join sda.file_dataset fd on fd.file_id = f.id where c.source = 'UNENCRYPTED'`,
  );
  const expected = [...contents].map(([path, content]) => [path, sha256(Buffer.from(content))]);
  expect(archived.toSorted()).toEqual(expected.toSorted());
});

test('they are listed, and the whole dataset is removed, body by body', async () => {
  const listed = await run(['list', '--dataset', datasetId, '--json']);
  expect(listed.stdout.trim().split('\n')).toHaveLength(contents.size);
  const before = await rows();
  await service.setDataset(datasetId, 'released');
  expect((await run(['remove', '--dataset', datasetId, '--yes'])).exitCode).toBe(9);
  await service.setDataset(datasetId, 'deprecated');
  const removed = await run(['remove', '--dataset', datasetId, '--yes']);
  expect(removed).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^(EGAF9\d{10} is removed\n){60}$/) });
  expect(await rows()).toEqual(new Set());
  const left = await bodies();
  expect([...before].filter((key) => left.has(key ?? ''))).toEqual([]);
  expect(await service.sql("select count(*) from data_out.export_log where event = 'removed'")).toEqual([['60']]);
});
