import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { captureOutput } from '../../../helpers/captured-output.ts';
import { lambdaContext, metricsOf } from '../../../helpers/sqs-event.ts';
import { stageFileEnvironment } from '../../../helpers/stage-file-environment.ts';
import { WithdrawWorld } from '../../../helpers/withdraw-world.ts';

const environment = { ...stageFileEnvironment, OUTBOX_EXPIRY_DAYS: '30', WITHDRAWAL: 'report' };
let withdraw: typeof import('../../../../lambdas/data-out/withdraw.ts').withdraw;
beforeAll(async () => {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  ({ withdraw } = await import('../../../../lambdas/data-out/withdraw.ts'));
});
afterAll(() => {
  vi.unstubAllEnvs();
});

let world: WithdrawWorld;
let log: ReturnType<typeof captureOutput>;
beforeEach(() => {
  log = captureOutput();
  world = new WithdrawWorld();
  world.deprecated = [{ datasetId: 'EGAD1', isRecent: false }];
  const requestId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';
  const recipient = 'ab'.repeat(32);
  const key = `${recipient}/EGAF1-a.c4gh`;
  world.stage({ requestId, fileId: 'EGAF1', datasetId: 'EGAD1', recipient, key, state: 'staged' });
});
afterEach(() => log.restore());

test('a report counts what it leaves, in a line for each dataset and a metric', async () => {
  await withdraw(world, 'report')({}, lambdaContext());
  expect(world.objects.size).toBe(1);
  expect(metricsOf(log.documents())).toEqual([{ WithdrawnInOutbox: 1 }]);
  expect(log.documents()).toContainEqual(
    expect.objectContaining({ level: 'WARN', datasetId: 'EGAD1', found: 1, removed: 0, copiesEnded: 0 }),
  );
});

test('a purge counts what it deletes, and leaves nothing', async () => {
  await withdraw(world, 'purge')({}, lambdaContext());
  expect(world.objects.size).toBe(0);
  expect(metricsOf(log.documents())).toEqual([{ WithdrawnInOutbox: 0, FileWithdrawn: 1 }]);
});

test('a run without a deprecated dataset counts zero, so that the alarm ends', async () => {
  world.deprecated = [];
  await withdraw(world, 'report')({}, lambdaContext());
  expect(metricsOf(log.documents())).toEqual([{ WithdrawnInOutbox: 0 }]);
});

test('a run with a minute left starts nothing', async () => {
  await withdraw(world, 'purge')({}, lambdaContext(59_000));
  expect(world.objects.size).toBe(1);
});

test('a purge has no limit but its time', async () => {
  world.pageSize = 1_000;
  for (let file = 2; file <= 1_002; file += 1) {
    const recipient = 'cd'.repeat(32);
    const facts = { requestId: '7f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11', datasetId: 'EGAD1', fileId: `EGAF${file}` };
    world.stage({ ...facts, recipient, key: `${recipient}/EGAF${file}-a.c4gh`, state: 'staged' });
  }
  // The helper looks each row up.
  const ledger = { ...world.ledger, recordRemoval: async () => {} };
  await withdraw({ ...world, ledger }, 'purge')({}, lambdaContext());
  expect(world.objects.size).toBe(0);
});

test('a run that continues the one before starts only while a request may be open, as after a removal', async () => {
  await withdraw(world, 'purge')({ whileOpen: true }, lambdaContext());
  expect([world.objects.size, log.documents()]).toEqual([1, []]);
  world.hold('open-requests', {});
  // The run that looks seldom leaves the work to the others meanwhile.
  await withdraw(world, 'purge')({ whileOpen: false }, lambdaContext());
  expect([world.objects.size, log.documents()]).toEqual([2, []]);
  await withdraw(world, 'purge')({ whileOpen: true }, lambdaContext());
  expect([...world.objects.keys()]).toEqual(['open-requests']);
});
