import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { ExportPipeline } from '../../../helpers/export-pipeline.ts';
import { lambdaContext, metricsOf } from '../../../helpers/sqs-event.ts';
import { stageFileEnvironment } from '../../../helpers/stage-file-environment.ts';

const environment = { ...stageFileEnvironment, OUTBOX_EXPIRY_DAYS: '30', WITHDRAWAL: 'report' };
let withdraw: typeof import('../../../../lambdas/data-out/withdraw.ts').withdraw;
beforeAll(async () => {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  ({ withdraw } = await import('../../../../lambdas/data-out/withdraw.ts'));
});
afterAll(() => {
  vi.unstubAllEnvs();
});

let world: ExportPipeline;
let log: ReturnType<typeof captureOutput>;
beforeEach(async () => {
  world = await ExportPipeline.open();
  world.receipts = false;
  await world.addDataset('EGAD1', ['EGAF1']);
  world.request();
  await world.deliverAll();
  await world.event('EGAD1', 'deprecated');
  log = captureOutput();
});
afterEach(() => log.restore());

test('a report counts what it leaves, in a line for each dataset and a metric', async () => {
  await withdraw(world.removing, 'report')({}, lambdaContext());
  expect(world.outbox.objects.size).toBe(1);
  expect(metricsOf(log.documents())).toEqual([{ WithdrawnInOutbox: 1 }]);
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ level: 'WARN', datasetId: 'EGAD1', found: 1, removed: 0 }),
  );
});

test('a purge counts what it deletes, and leaves nothing', async () => {
  await withdraw(world.removing, 'purge')({}, lambdaContext());
  expect(world.outbox.objects.size).toBe(0);
  expect(metricsOf(log.documents())).toEqual([{ WithdrawnInOutbox: 0, FileWithdrawn: 1 }]);
});

test('a run without a deprecated dataset counts zero, so that the alarm ends', async () => {
  await world.event('EGAD1', 'released');
  await withdraw(world.removing, 'report')({}, lambdaContext());
  expect(metricsOf(log.documents())).toEqual([{ WithdrawnInOutbox: 0 }]);
});

test('a run with a minute left starts nothing', async () => {
  await withdraw(world.removing, 'purge')({}, lambdaContext(59_000));
  expect(world.outbox.objects.size).toBe(1);
});

test('a report ends at 1,000 containers, and a purge at none', async () => {
  const [[prefix = ''] = []] = [...world.outbox.objects.keys()].map((key) => key.split('/'));
  const [object] = world.outbox.objects.values();
  const ids = Array.from({ length: 1500 }, (_, n) => `F${n}`);
  for (const id of ids) if (object) world.outbox.objects.set(`${prefix}/${id}-a.c4gh`, object);
  await world.database.sql(`insert into data_out.request_files (request_id, file_id, state, outbox_key)
    select r.request_id, 'F' || n, 'staged', '${prefix}/F' || n || '-a.c4gh' from data_out.requests r, generate_series(0, 1499) n`);
  await withdraw(world.removing, 'report')({}, lambdaContext());
  // The page that reaches the limit is counted whole.
  expect(metricsOf(log.documents())).toEqual([{ WithdrawnInOutbox: 1200 }]);
  await withdraw(world.removing, 'purge')({}, lambdaContext());
  expect(world.outbox.objects.size).toBe(0);
});
