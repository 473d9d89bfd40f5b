import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { sweep } from '../../../../lib/service/export/sweep.ts';
import type { SqlExecutor } from '../../../../lib/service/stores/rds/data-api.ts';
import { prepareRole } from '../../../../lib/service/stores/rds/database-role.ts';
import { keepRows } from '../../../../lib/service/stores/rds/migrate.ts';
import { ExportPipeline } from '../../../helpers/export-pipeline.ts';

let world: ExportPipeline;
beforeEach(async () => {
  world = await ExportPipeline.open();
  await world.addDataset('EGAD1', ['F1', 'F2', 'F3']);
});
const sql = (text: string) => world.database.sql(text);
/** Accept a request, and lose the messages of its files. */
async function accepted(states = "'sent'"): Promise<string> {
  const id = world.request();
  await world.consume();
  world.queues.smallFileExports.length = 0;
  await sql(`update data_out.request_files set state = ${states} where request_id = '${id}'`);
  return id;
}
const age = (id: string, days: number) =>
  sql(`with r as (update data_out.requests set requested_at = now() - interval '${days} days' where request_id = '${id}')
    update data_out.request_files set changed_at = now() - interval '${days} days' where request_id = '${id}'`);

test('files of which nothing changed for 14 days are given up, with their audit rows, and their request is settled', async () => {
  const id = await accepted("case file_id when 'F1' then 'staged' when 'F2' then 'waiting' else 'sent' end");
  await sql(
    `update data_out.request_files set reason = 'internal_error', upload_id = 'u', upload_for = 'f' where file_id = 'F3'`,
  );
  await age(id, 13.99);
  expect(await world.sweep()).toMatchObject({ givenUp: [] });
  // The sweep has sent what waited.
  await sql("update data_out.request_files set state = 'waiting' where file_id = 'F2'");
  await age(id, 14.01);
  expect(await world.sweep()).toMatchObject({
    ...{ deleted: 0, sent: 0, settling: 1 },
    givenUp: expect.arrayContaining([
      expect.objectContaining({ reason: 'expired', files: 1 }),
      expect.objectContaining({ reason: 'internal_error', files: 1 }),
    ]),
  });
  expect(await world.statesOf(id)).toEqual(['F1: staged', 'F2: given_up expired', 'F3: given_up internal_error']);
  expect(await world.fileRow(id, 'F3')).toMatchObject({ upload_id: null, upload_for: null });
  expect(await world.audit()).toEqual(['accepted', 'given_up F2 expired', 'given_up F3 internal_error']);
  expect(world.queues.deliveries.map(({ body }) => body)).toEqual([`{"requestId":"${id}"}`]);
});

test('files that wait for more than an hour are sent, others not yet', async () => {
  const [old, young] = [await accepted("'waiting'"), await accepted("'waiting'")];
  await sql(`update data_out.request_files set changed_at = now() - case request_id when '${old}' then interval '61 minutes'
    else interval '59 minutes' end`);
  expect(await world.sweep()).toEqual({ deleted: 0, givenUp: [], sent: 3, settling: 0, overdue: 0 });
  expect(world.sentFiles.map(({ requestId }) => requestId)).toEqual([old, old, old]);
  expect(await world.statesOf(young)).toEqual(['F1: waiting', 'F2: waiting', 'F3: waiting']);
});

test('requests without an open file are settled, whatever their number, and no others', async () => {
  const open = await accepted();
  await sql(`with many as (
      insert into data_out.requests (request_id, requested_at, kind, dataset_id, recipient, state, revision, settled_revision)
      select cast(lpad(cast(n as text), 8, '0') || '-0000-4000-8000-000000000000' as uuid), now(), 'dataset', 'EGAD1',
        case when n <> 1002 then 'r' end, 'complete', 2, case n when 1001 then 2 else 1 end
      from generate_series(1, 1002) n returning request_id)
    insert into data_out.request_files (request_id, file_id, state) select request_id, 'F1', 'staged' from many`);
  await sql(
    "update data_out.requests set requested_at = now() - interval '61 minutes' where request_id < '00000003-0000-4000-8000-000000000000'",
  );
  // A request that is settled, and one whose recipient was erased, need nothing.
  expect(await world.sweep()).toMatchObject({ settling: 1000, overdue: 2 });
  const settling = world.queues.deliveries.map(({ body }) => JSON.parse(body).requestId).sort();
  expect([settling.length, new Set(settling).size, settling.includes(open)]).toEqual([1000, 1000, false]);
  expect([settling[0], settling.at(-1)]).toEqual([
    '00000001-0000-4000-8000-000000000000',
    '00001000-0000-4000-8000-000000000000',
  ]);
});

test.each([
  ['delete_expired', { givenUp: [{ reason: 'expired', files: 3 }], sent: 3, settling: 2 }],
  ["set state = 'given_up'", { givenUp: [], sent: 3, settling: 1 }],
  [
    'select from data_out.request_files f where f.request_id = r.request_id and',
    { givenUp: [{ reason: 'expired', files: 3 }], sent: 0, settling: 2 },
  ],
  ['order by w.file_id', { givenUp: [{ reason: 'expired', files: 3 }], sent: 0, settling: 2 }],
  ['order by r.request_id limit', { givenUp: [{ reason: 'expired', files: 3 }], sent: 3, settling: 0 }],
])('a failure of one statement stops no other step, and is reported: %s', async (failing, done) => {
  const waiting = await accepted("'waiting'");
  await sql(
    `update data_out.request_files set changed_at = now() - interval '2 hours' where request_id = '${waiting}'`,
  );
  await accepted("'staged'");
  await age(await accepted(), 15);
  const failure = new Error('down');
  const { query, execute } = world.db;
  const db: SqlExecutor = {
    execute,
    query: (row, text, ...more) => (text.includes(failing) ? Promise.reject(failure) : query(row, text, ...more)),
  };
  const failures: unknown[] = [];
  const failed = (error: unknown) => failures.push(error);
  expect(await sweep({ ...world.sweeping, db }, () => 900_000, failed)).toMatchObject({ deleted: 0, ...done });
  expect(failures).toEqual([failure]);
});

test('what is left when the time is over waits for the next run', async () => {
  const id = await accepted("'waiting'");
  await age(id, 1);
  world.remainingMs = () => 30_000;
  expect(await world.sweep()).toEqual({ deleted: 0, givenUp: [], sent: 0, settling: 0, overdue: 0 });
  expect(await world.statesOf(id)).toEqual(['F1: waiting', 'F2: waiting', 'F3: waiting']);
  world.remainingMs = () => 30_001;
  expect(await world.sweep()).toMatchObject({ sent: 3 });
});

test('rows go whose time is over: those of the oldest settled requests, of at most 5,000 files at once, and audit rows', async () => {
  // Four are 100 to 104 days old: one is not settled, one is settled again lately. Another is younger.
  await sql(`insert into data_out.requests (request_id, requested_at, state, revision, settled_revision, settled_at)
    select cast(n || '0000000-0000-4000-8000-000000000000' as uuid), now() - interval '100 days',
      case n when 4 then 'rejected' else 'complete' end, 2, case n when 2 then 1 else 2 end,
      now() - case n when 3 then interval '1 day' when 5 then interval '89 days' else interval '100 days' end
    from generate_series(1, 5) n`);
  await sql(`insert into data_out.request_files (request_id, file_id, state)
    select cast('10000000-0000-4000-8000-000000000000' as uuid), 'F' || n, 'staged' from generate_series(1, 9998) n
    union all select cast('20000000-0000-4000-8000-000000000000' as uuid), 'F1', 'given_up'`);
  await sql(`insert into data_out.export_log (request_id, event, recorded_at)
    select gen_random_uuid(), 'settled', now() - make_interval(days => n) from unnest(array[100, 100, 89]) n`);
  const counts = async () =>
    (
      await sql(`select (select count(*) from data_out.requests), (select count(*) from data_out.request_files),
        (select count(*) from data_out.export_log)`)
    )[0]?.map(Number);
  expect(await world.sweep()).toMatchObject({ deleted: 0 });
  await keepRows(world.db, 90);
  expect(await world.sweep()).toMatchObject({ deleted: 2 + 9998 + 2 });
  expect(await counts()).toEqual([3, 1, 1]);
  expect((await sql('select left(cast(request_id as text), 1) from data_out.requests order by 1')).flat()).toEqual([
    '2',
    '3',
    '5',
  ]);
  await expect(keepRows(world.db, 29)).rejects.toThrow('retention_days_check');
  await keepRows(world.db, undefined);
  await sql("update data_out.requests set settled_at = now() - interval '9000 days'");
  expect(await world.sweep()).toMatchObject({ deleted: 0 });
});

test('the functions ask for the deletion and cannot change how long rows are kept; other roles cannot ask', async () => {
  const password = 'correct-horse-battery-staple';
  const login = async (username: 'data_out_worker' | 'data_out_proxy') => {
    await prepareRole(world.database.dataApi(), username, password);
    world.database.logins = { 'arn:role': { username, password } };
    return world.database.dataApi({ secretArn: 'arn:role' });
  };
  const ask = 'select data_out.delete_expired(100, 5000) as deleted';
  const worker = await login('data_out_worker');
  expect(await worker.query(z.unknown(), ask, {})).toEqual([{ deleted: 0 }]);
  await expect(keepRows(worker, 30)).rejects.toThrow('permission denied for table retention');
  const proxy = await login('data_out_proxy');
  await expect(proxy.query(z.unknown(), ask, {})).rejects.toThrow('permission denied for function');
});
