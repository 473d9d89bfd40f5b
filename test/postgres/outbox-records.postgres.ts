import { afterAll, beforeAll, expect, it } from 'vitest';
import { databaseRoles } from '../../lib/contract/database-roles.ts';
import { deprecatedDatasets, recordedContainers } from '../../lib/service/export/withdraw/containers.ts';
import { prepareRole } from '../../lib/service/stores/rds/database-role.ts';
import { migrate } from '../../lib/service/stores/rds/migrate.ts';
import { TestDatabase } from '../helpers/data-api.ts';
import { ServerDatabase } from '../helpers/postgres-database.ts';
import { type PostgresServer, startPipelinePostgres } from '../helpers/postgres-server.ts';
import { readMigrations } from '../helpers/read-migrations.ts';

/** The rows about the outbox in tables so large that a scan of a whole one would be a fault. */
const owner = { username: 'data_out', password: 'the password of the owner' };
const worker = { username: databaseRoles.worker, password: 'the password of the worker' };

const rows = [
  "insert into sda.datasets (stable_id) select 'EGAD' || n from generate_series(1, 40) n",
  "insert into sda.dataset_event_log (dataset_id, event) select 'EGAD' || n, 'released' from generate_series(1, 40) n",
  `insert into sda.dataset_event_log (dataset_id, event, event_date)
   values ('EGAD1', 'deprecated', now() + interval '1 second')`,
  `insert into sda.files (stable_id, submission_user, submission_file_path, archive_file_path, archive_file_size, header,
     last_event) select 'EGAF' || n, 'u', 'u/' || n || '.bam', 'b' || n, 1, '00', 'ready' from generate_series(1, 2000) n`,
  'insert into sda.file_dataset (file_id, dataset_id) select f.id, d.id from sda.files f, sda.datasets d where d.id <= 2',
  `insert into data_out.requests (request_id, requested_at, dataset_id, recipient, state)
   select gen_random_uuid(), now(), 'EGAD' || (1 + n % 40), repeat(md5((n % 7)::text), 2), 'complete'
   from generate_series(1, 80) n`,
  `insert into data_out.request_files (request_id, file_id, state, outbox_key)
   select r.request_id, f.stable_id, 'staged', r.recipient || '/' || f.stable_id || '.c4gh' from data_out.requests r, sda.files f`,
  `insert into data_out.export_log (request_id, event, dataset_id, file_id, recipient)
   select f.request_id, 'staged', r.dataset_id, f.file_id, r.recipient
   from data_out.request_files f join data_out.requests r using (request_id)`,
];

let server: PostgresServer;
let database: TestDatabase;
beforeAll(async () => {
  server = await startPipelinePostgres(owner);
  database = new TestDatabase(new ServerDatabase({ host: server.host, database: 'sda', owner }));
  await migrate(database.dataApi(), readMigrations());
  await prepareRole(database.dataApi(), databaseRoles.worker, worker.password);
  for (const statement of rows) await database.sql(statement);
  await server.admin('analyze', 'sda');
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await server?.stop();
});

it('finds the containers of a dataset by index, in each statement of its role', async () => {
  database.logins = { 'arn:worker': worker };
  const db = database.dataApi({ secretArn: 'arn:worker' });
  expect(await deprecatedDatasets(db)).toEqual([{ datasetId: 'EGAD1', isRecent: true }]);
  database.bodies.length = 0;
  let found = 0;
  for await (const page of recordedContainers(db, 30, { datasetId: 'EGAD1' }, { withdrawn: true }))
    found += page.length;
  // Two requests of 2,000 files each. No other dataset that has these files was exported to the same recipient.
  expect(found).toBe(4000);

  const { sql } = JSON.parse(database.bodies[0] ?? '') as { sql: string };
  const values = [
    [':value', "'EGAD1'"],
    [':days', '32'],
    [':after_request', "'00000000-0000-0000-0000-000000000000'"],
    [':after_file', "''"],
  ] as const;
  const statement = values.reduce((text, [name, value]) => text.replaceAll(name, value), sql);
  const plan = (await database.sql(`explain (costs off) ${statement}`)).flat().join('\n');
  expect(plan).toContain('request_files_pkey');
  expect(plan).not.toMatch(/Seq Scan on (request_files|export_log|files)\b/);
});
