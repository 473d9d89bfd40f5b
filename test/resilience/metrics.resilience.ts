import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { breakdowns, metrics } from '../../lib/contract/metrics.ts';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { copyWithSettings } from '../helpers/assembly-with-settings.ts';
import { Service, until } from '../helpers/service.ts';
import { sqsRecord } from '../helpers/sqs-event.ts';

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

/** Hand a function of a queue a message as it comes for the last time. */
async function lastTry(fileId: string): Promise<void> {
  const { FileExportsQueueUrl: url } = service.connection.outputs;
  const body = JSON.stringify({
    requestId: '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11',
    requestedAt: new Date().toISOString(),
    fileId,
    datasetId,
    recipient: service.prefix(subject),
    publicKey: Buffer.from(publicKey).toString('base64'),
  });
  const record = { ...sqsRecord({ body, received: 100 }), eventSourceARN: `arn:aws:sqs:x:1:${url.split('/').at(-1)}` };
  await service.engine.functions.invoke('stage-file', { Records: [record] });
}

test('every metric is written on some path, with values of its closed lists', async () => {
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
  await service.s3.send(
    new DeleteObjectCommand({ Bucket: service.connection.outputs.ArchiveBucketName, Key: String(archivePath) }),
  );
  await lastTry(lost.fileId);
  await service.setDataset(datasetId, 'deprecated');
  await lastTry(lost.fileId);
  await service.engine.functions.invoke('withdraw', {});

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

test('files that a sweep gives up count by what happened to their last attempt', async () => {
  const open = (isLastTry: boolean, ago: string) =>
    service.sql(`update data_out.request_files set state = 'pending', is_last_try = ${isLastTry},
      tried_at = now() - interval '${ago}', updated_at = now() - interval '${ago}'`);
  const reasons = () =>
    counted()
      .filter(({ name }) => name === 'FileGivenUp')
      .map(({ line }) => line.reason);
  const before = reasons().length;
  await open(true, '1 hour');
  await service.engine.functions.invoke('sweep-deliveries', {});
  await service.sql("update data_out.requests set settled_generation = 0, updated_at = now() - interval '15 days'");
  await open(false, '15 days');
  await service.engine.functions.invoke('sweep-deliveries', {});
  const found = await until(() => (reasons().length >= before + 2 ? reasons() : undefined), 'two sweeps');
  expect(found.slice(before)).toEqual(['no_answer', 'expired']);
});
