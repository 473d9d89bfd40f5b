import { afterAll, beforeAll, expect, test } from 'vitest';
import { settings } from '../../../bin/settings.ts';
import { shortName } from '../../../lib/local/template/names.ts';
import { Service } from '../../helpers/service.ts';
import { templatesOf } from '../../helpers/synthesized.ts';

const minutesOf: Readonly<Record<string, number>> = { minute: 1, hour: 60, day: 1440 };
let service: Service;
beforeAll(async () => {
  service = await Service.shared();
});
afterAll(() => service.stop());

/** What the schedules of a cluster that may sleep run within a day, on the functions of the engine. */
function runsOfADay(): { name: string; event: unknown; times: number }[] {
  const { served } = templatesOf({ ...settings, database: { minCapacity: 0, maxCapacity: 8, backupDays: 14 } });
  return Object.values(served.findResources('AWS::Events::Rule'))
    .filter(({ Properties }) => Properties.ScheduleExpression)
    .map(({ Properties: { ScheduleExpression, Targets } }) => {
      const [, count, unit = ''] = /^rate\((\d+) (\w+?)s?\)$/.exec(ScheduleExpression) ?? [];
      const [{ Arn, Input }] = Targets;
      const [, id = ''] = /^Functions(\w+)Function[0-9A-F]{8}$/.exec(Arn['Fn::GetAtt'][0]) ?? [];
      const name = shortName(id);
      const times = Math.floor(1440 / (Number(count) * (minutesOf[unit] ?? Number.NaN)));
      return { name, event: Input === undefined ? {} : JSON.parse(Input), times };
    });
}

test('an idle service sleeps except for the daily sweep and for what withdraws: nothing else makes a statement', async () => {
  const { traffic } = service.engine;
  const runs = runsOfADay();
  expect(runs.map(({ name, times }) => `${times} ${name}`).sort()).toEqual([
    ...['1 sweep-deliveries', '2 withdraw', '24 protect'],
  ]);
  traffic.resetCounters();
  for (const { name, event } of runs) {
    expect(await service.engine.functions.invoke(name, event)).toMatchObject({ ok: true });
  }
  const statements = Object.keys(traffic.counters()).filter((call) => / rds-data /.test(call));
  expect(new Set(statements.map((call) => call.split(' ')[0]))).toEqual(new Set(['sweep-deliveries', 'withdraw']));
});
