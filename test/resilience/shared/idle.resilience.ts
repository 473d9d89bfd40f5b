import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { settings } from '../../../bin/settings.ts';
import { openMarkerKey } from '../../../lib/contract/outbox-key.ts';
import { generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { shortName } from '../../../lib/local/template/names.ts';
import { Service, until } from '../../helpers/service.ts';
import { templatesOf } from '../../helpers/synthesized.ts';

const hour = 3_600_000;
const minutesOf: Readonly<Record<string, number>> = { minute: 1, hour: 60, day: 1440 };
let service: Service;
beforeAll(async () => {
  service = await Service.shared();
});
afterAll(() => service.stop());

/** What the schedules of a cluster that may sleep run within an hour, on the functions of the engine. */
function runsOfAnHour(): { name: string; event: unknown; times: number }[] {
  const { served } = templatesOf({ ...settings, database: { minCapacity: 0, maxCapacity: 8, backupDays: 14 } });
  return Object.values(served.findResources('AWS::Events::Rule'))
    .filter(({ Properties }) => Properties.ScheduleExpression)
    .map(({ Properties: { ScheduleExpression, Targets } }) => {
      const [, count, unit = ''] = /^rate\((\d+) (\w+?)s?\)$/.exec(ScheduleExpression) ?? [];
      const [{ Arn, Input }] = Targets;
      const [, id = ''] = /^Functions(\w+)Function[0-9A-F]{8}$/.exec(Arn['Fn::GetAtt'][0]) ?? [];
      const name = shortName(id);
      const times = Math.floor(60 / (Number(count) * (minutesOf[unit] ?? Number.NaN)));
      return { name, event: Input === undefined ? {} : JSON.parse(Input), times };
    });
}

/** Statements that functions made since the last call, by function. */
function statements(): readonly string[] {
  const { traffic } = service.engine;
  const made = Object.keys(traffic.counters()).filter((call) => / rds-data /.test(call));
  traffic.resetCounters();
  return made;
}

async function passAnHour(): Promise<readonly string[]> {
  statements();
  for (const { name, event, times } of runsOfAnHour()) {
    for (let run = 0; run < times; run += 1) {
      expect(await service.engine.functions.invoke(name, event)).toMatchObject({ ok: true });
    }
  }
  return statements();
}

const backdate = (milliseconds: number) =>
  service.engine.s3.backdateObject(service.connection.outputs.OutboxBucketName, openMarkerKey, milliseconds);

test('an idle service makes no statement for an hour', async () => {
  const runs = runsOfAnHour().map(({ name, times }) => `${times} ${name}`);
  expect(runs.sort()).toEqual(['0 sweep-deliveries', '0 withdraw', '1 protect', '12 sweep-deliveries']);
  expect(await passAnHour()).toEqual([]);
});

test('a request is swept while it is open, and the service is idle again after it', { timeout: 120_000 }, async () => {
  const { fileId } = await service.archive('EGAD1', 'a.bam', 1000);
  await service.setDataset('EGAD1', 'released');
  const { publicKey } = generateKeyPair();
  const visa = await service.visa({ datasetId: 'EGAD1' });
  await service.exported({ id: fileId, type: 'fileId', visa, publicKey });
  const closed = 'select request_id from data_out.requests where settled_generation >= generation';
  await until(async () => ((await service.sql(closed)).length > 0 ? true : undefined), 'the receipt');
  expect(await passAnHour()).toEqual(['sweep-deliveries rds-data ExecuteStatement']);
  backdate(hour);
  expect(await passAnHour()).toEqual(['sweep-deliveries rds-data ExecuteStatement']);
  expect(await passAnHour()).toEqual([]);
});

test('what was open before a deployment is swept after it', async () => {
  expect(await passAnHour()).toEqual([]);
  const forbid = service.engine.traffic.addFault(({ caller, service: name }) =>
    caller === 'migrate' && name === 's3' ? { error: { status: 403, code: 'AccessDenied' } } : undefined,
  );
  expect(await service.engine.functions.invoke('migrate', {})).toMatchObject({ ok: true });
  expect(await passAnHour()).toEqual([]);
  forbid();
  expect(await service.engine.functions.invoke('migrate', {})).toMatchObject({ ok: true });
  expect(await passAnHour()).toEqual(['sweep-deliveries rds-data ExecuteStatement']);
  backdate(hour);
  await passAnHour();
});

test('the daily sweep finds a request without the marker, and makes the marker', async () => {
  await service.sql(
    `insert into data_out.requests (request_id, requested_at, dataset_id, recipient, state)
     values ('${randomUUID()}', now(), 'EGAD1', '${service.prefix('idle')}', 'accepted')`,
  );
  expect(await passAnHour()).toEqual([]);
  const [net] = runsOfAnHour().filter(({ event }) => JSON.stringify(event) !== '{}');
  expect(await service.engine.functions.invoke(net?.name ?? '', net?.event)).toMatchObject({ ok: true });
  expect(await passAnHour()).toEqual(['sweep-deliveries rds-data ExecuteStatement']);
});
