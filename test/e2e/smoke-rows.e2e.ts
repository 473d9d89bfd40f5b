import { afterAll, beforeAll, expect, test } from 'vitest';
import { smokeRows } from '../../lib/ops/catalogue/smoke-rows.ts';
import { databaseOf, findDeployment } from '../../lib/ops/target.ts';
import { makeTerminal } from '../helpers/ops-world.ts';
import { Service } from '../helpers/service.ts';

let service: Service;
let rows: ReturnType<typeof smokeRows>;
beforeAll(async () => {
  service = await Service.shared();
  const { terminal } = makeTerminal();
  rows = smokeRows(databaseOf(await findDeployment({ connection: service.engine.connectionPath }, terminal)));
});
afterAll(() => service?.stop());

test('what smoke tests leave in the database is found and removed; the rest stays', async () => {
  await service.archive('EGAD1', 'a', 10);
  await service.sql(`insert into sda.datasets (stable_id) values ('SMOKE-1'), ('smoke-2'), ('xSMOKE-3')`);
  await service.sql(`insert into sda.dataset_event_log (dataset_id, event) values ('SMOKE-1', 'released')`);
  const id = '00000000-0000-4000-8000-000000000001';
  await service.sql(
    `insert into data_out.requests (request_id, requested_at, state, dataset_id, recipient) values
     ('${id}', now(), 'accepted', 'SMOKE-1', 'r1')`,
  );
  await service.sql(`insert into data_out.request_files (request_id, file_id, state) values ('${id}', 'f', 'sent')`);
  await service.sql(
    `insert into data_out.archive_users (username, password_hash) values ('smoke-20261122t100000z-0123abcd', 'x'), ('alice', 'x')`,
  );
  await service.sql(
    `insert into data_out.export_log (request_id, event, dataset_id, recipient) values
     ('${id}', 'accepted', 'SMOKE-1', 'r1'), ('${id}', 'staged', 'EGAD1', 'r2')`,
  );

  expect(await rows.datasets()).toEqual(['SMOKE-1']);
  expect(await rows.recipients()).toEqual(['r1']);
  expect(await rows.areUnderWay('')).toBe(true);
  await service.sql("update data_out.requests set state = 'complete'");
  expect(await rows.areUnderWay('')).toBe(false);
  expect(await rows.areUnderWay(id)).toBe(false);
  expect(await rows.areUnderWay(id.replace(/1$/, '2'))).toBe(true);

  await rows.remove('EGAD1');
  expect(await rows.removeUsers()).toEqual(['smoke-20261122t100000z-0123abcd']);
  await rows.remove('SMOKE-1');
  expect((await service.sql('select stable_id from sda.datasets order by id')).flat()).toEqual([
    'EGAD1',
    'smoke-2',
    'xSMOKE-3',
  ]);
  expect((await service.sql('select dataset_id from sda.dataset_event_log')).flat()).toEqual(['EGAD1']);
  expect(await service.sql('select request_id from data_out.requests')).toEqual([]);
  expect(await service.sql('select request_id from data_out.request_files')).toEqual([]);
  expect(
    (await service.sql("select username from data_out.archive_users where username <> 'archive-user'")).flat(),
  ).toEqual(['alice']);
  // The audit trail keeps its rows.
  expect(await service.sql('select count(*) from data_out.export_log')).toEqual([['2']]);
});
