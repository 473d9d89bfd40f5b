import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { breakdowns, metrics } from '../../lib/contract/metrics.ts';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { copyWithSettings } from '../helpers/assembly-with-settings.ts';
import { Service, until } from '../helpers/service.ts';

const datasetId = 'EGAD00000000072';
const subject = 'counted';
const publicKey = generateKeyPair().publicKey;

const assemblyDir = mkdtempSync(join(tmpdir(), 'data-out-metrics-'));
let service: Service;
beforeAll(async () => {
  await copyWithSettings(assemblyDir, { events: 'on', withdrawal: 'purge' });
  service = await Service.start({ assemblyDir });
});
afterAll(async () => {
  await service?.stop();
  rmSync(assemblyDir, { recursive: true });
});

interface Counted {
  readonly name: string;
  readonly line: Readonly<Record<string, unknown>>;
}

/** Every metric that the functions have written, by the rules of EMF: its value stands in the line under its name. */
function counted(): readonly Counted[] {
  return service.logs
    .filter(({ line }) => line.startsWith('{"_aws"'))
    .map(({ line }) => JSON.parse(line))
    .flatMap((line) =>
      line._aws.CloudWatchMetrics.flatMap(({ Namespace, Metrics, Dimensions }: Record<string, never[]>) => {
        expect(Namespace).toBe('DataOut');
        for (const name of Dimensions?.flat() ?? []) expect(line[name]).toEqual(expect.any(String));
        return Metrics?.map(({ Name }) => ({ name: Name, line })) ?? [];
      }),
    );
}

/** Let the files of a request be sent, since then. */
async function reopen(requestId: string, ago: string): Promise<void> {
  const [where, time] = [`where request_id = '${requestId}'`, `now() - interval '${ago}'`];
  await service.sql(`update data_out.requests set requested_at = ${time}, revision = revision + 1 ${where}`);
  await service.sql(`update data_out.request_files set state = 'sent', reason = null, changed_at = ${time} ${where}`);
}

test('every metric is written on some path, with values of its closed lists', async () => {
  const { outputs } = service.connection;
  const { fileId } = await service.archive(datasetId, 'a.vcf', 2048);
  const lost = await service.archive(datasetId, 'b.vcf', 2048);
  await service.setDataset(datasetId, 'released');
  const [[archivePath] = []] = await service.sql(
    `select archive_file_path from sda.files where stable_id = '${lost.fileId}'`,
  );
  const heal = service.engine.traffic.addFault(({ service: of }) =>
    of === 'events' ? { error: { status: 400, code: 'AccessDeniedException' } } : undefined,
  );
  const visa = await service.visa({ datasetId, subject });
  await service.settled(await service.exported({ id: fileId, type: 'fileId', visa, publicKey }));
  await service.settled(await service.exported({ id: 'EGAD00000000099', visa, publicKey }));
  heal();
  await service.s3.send(new DeleteObjectCommand({ Bucket: outputs.ArchiveBucketName, Key: String(archivePath) }));
  const requestId = await service.exported({ id: lost.fileId, type: 'fileId', visa, publicKey });
  await until(() => counted().find(({ name }) => name === 'ArchiveDamaged'), 'the file to be given up');
  await service.setDataset(datasetId, 'deprecated');
  await reopen(requestId, '1 minute');
  await service.enqueue(outputs.SmallFileExportsQueueUrl, JSON.stringify({ requestId, fileId: lost.fileId }));
  await until(() => counted().find(({ name }) => name === 'FileRejected'), 'the file to be rejected');
  await service.engine.functions.invoke('withdraw', {});
  await service.enqueue(outputs.SmallFileExportsQueueUrl, '{}');
  await reopen(requestId, '15 days');
  await service.engine.functions.invoke('sweep-deliveries', {});

  const wanted = Object.values(metrics).sort();
  const found = await until(
    () => {
      const all = counted();
      const names = new Set(all.map(({ name }) => name));
      return wanted.every((name) => names.has(name)) ? all : undefined;
    },
    `each of ${wanted.join(', ')}`,
  ).catch(() => counted());
  expect([...new Set(found.map(({ name }) => name))].sort()).toEqual(wanted);
  for (const [name, { dimension, values }] of Object.entries(breakdowns)) {
    const lines = found.filter((one) => one.name === name);
    for (const { line } of lines) expect(values).toContain(line[dimension]);
  }
  const givenUp = found.filter(({ name, line }) => name === 'FileGivenUp' && line.reason !== undefined);
  expect(givenUp.map(({ line }) => line.reason)).toEqual(['archive_damaged', 'expired']);
  for (const { line } of found.filter(({ name }) => name.startsWith('SecondsTo'))) {
    const [seconds] = [line.SecondsToStaged ?? line.SecondsToSettled].flat() as number[];
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThan(120);
  }
  // No id of a person, a dataset or a file is a dimension.
  const sets = found.flatMap(({ line }) =>
    (
      line as never as { _aws: { CloudWatchMetrics: [{ Dimensions: string[][] }] } }
    )._aws.CloudWatchMetrics[0].Dimensions.flat(),
  );
  expect([...new Set(sets)].sort()).toEqual(['deployment', 'reason', 'service', 'stage', 'state']);
});
