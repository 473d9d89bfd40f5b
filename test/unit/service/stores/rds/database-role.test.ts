import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { directCatalogue } from '../../../../../lib/service/catalogue/direct-catalogue.ts';
import { RdsArchiveUsers } from '../../../../../lib/service/catalogue/users.ts';
import { exportRecords } from '../../../../../lib/service/export/export-records.ts';
import type { DataApi } from '../../../../../lib/service/stores/rds/data-api.ts';
import { closeRole, passwordOf, prepareRole } from '../../../../../lib/service/stores/rds/database-role.ts';
import { keepRows, migrate } from '../../../../../lib/service/stores/rds/migrate.ts';
import { MalformedSecretError } from '../../../../../lib/service/stores/secrets.ts';
import { TestDatabase } from '../../../../helpers/data-api.ts';
import { ExportPipeline } from '../../../../helpers/export-pipeline.ts';
import { scripted, testClient } from '../../../../helpers/http-handler.ts';
import { readMigrations } from '../../../../helpers/read-migrations.ts';

const password = 'correct-horse-battery-staple';
const proxySecret = 'arn:proxy';
let test: TestDatabase;
beforeAll(async () => {
  test = await TestDatabase.migrated();
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(() => {
  test.logins = { [proxySecret]: { username: 'data_out_proxy', password } };
  test.bodies.length = 0;
});
const proxy = () => test.dataApi({ secretArn: proxySecret });

/** That the role is refused the statements, and what no role may. */
function mayNot(role: () => DataApi, statements: readonly (readonly [sql: string, refusal: string])[]) {
  it.each<readonly [sql: string, refusal: string]>([
    ...statements,
    ['create table data_out.mine (id int)', 'permission denied for schema data_out'],
    ['set role postgres', 'permission denied to set role'],
    ["alter role current_user password 'mine'", 'must be a member of rds_password'],
  ])('may not %s', async (sql, refusal) => {
    await expect(role().execute(sql)).rejects.toThrow(refusal);
  });
}

describe('the role of list and stream', () => {
  it('is made and granted once, and takes the newest password each time', async () => {
    await prepareRole(test.dataApi(), 'data_out_proxy', 'an earlier password');
    // Secret and database may change one after the other: it is worth waiting for.
    const refusal = await proxy()
      .execute('select 1')
      .catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'temporarily_unavailable' });
    expect(String((refusal as Error).cause)).toContain('password authentication failed');
    await prepareRole(test.dataApi(), 'data_out_proxy', password);
    await prepareRole(test.dataApi(), 'data_out_proxy', password);
    await proxy().execute('select 1');
    expect(await test.sql("select count(*) from pg_roles where rolname = 'data_out_proxy'")).toEqual([['1']]);
  });

  mayNot(proxy, [
    ['select * from sda.files', 'permission denied for schema sda'],
    ["insert into data_out.archive_users (username, password_hash) values ('me', 'x')", 'permission denied for table'],
    ["update data_out.archive_users set password_hash = 'x'", 'permission denied for table archive_users'],
    ['select * from data_out.export_log', 'permission denied for table export_log'],
    ["insert into data_out.export_log (request_id, event) values (gen_random_uuid(), 'staged')", 'permission denied'],
    ['select rolpassword from pg_authid', 'permission denied for table pg_authid'],
  ]);

  it('loses the defaults that a login set for all of its sessions', async () => {
    await prepareRole(test.dataApi(), 'data_out_proxy', password);
    await proxy().execute("alter role current_user set statement_timeout = '1ms'");
    await proxy().execute('alter role current_user set default_transaction_read_only = on');
    const [[name]] = (await test.sql('select current_database()')) as [[string]];
    await proxy().execute(`alter role current_user in database "${name}" set statement_timeout = '1ms'`);
    await prepareRole(test.dataApi(), 'data_out_proxy', password);
    expect(await test.sql('select setconfig from pg_db_role_setting')).toEqual([]);
  });

  it('may do nothing by what roles can be, or belong to', async () => {
    const attributes = 'rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolcanlogin';
    expect(await test.sql(`select ${attributes} from pg_roles where rolname = 'data_out_proxy'`)).toEqual([
      ['f', 'f', 'f', 'f', 'f', 'f', 't'],
    ]);
    expect(await test.sql("select 1 from pg_auth_members where member = 'data_out_proxy'::regrole")).toEqual([]);
  });

  it('gets its password without anybody between hearing it', async () => {
    await prepareRole(test.dataApi(), 'data_out_proxy', password);
    expect(test.bodies.length).toBeGreaterThan(0);
    expect(test.bodies.filter((body) => body.includes(password))).toEqual([]);
    // Not even what PostgreSQL keeps of it is in the text of a statement, which PostgreSQL may log.
    const texts = test.bodies.map((body) => String((JSON.parse(body) as { sql?: string }).sql));
    expect(texts.filter((text) => text.includes('SCRAM'))).toEqual([]);
    const [[kept] = []] = await test.sql("select rolpassword from pg_authid where rolname = 'data_out_proxy'");
    expect(kept).toMatch(/^SCRAM-SHA-256\$4096:/);
  });

  it('can be made by an owner who is not a superuser, as in Aurora', async () => {
    await test.empty();
    // PostgreSQL's own verifier: a second opinion on how the local Data API checks passwords.
    const owner = { username: 'owner', password: 'made by PostgreSQL' };
    await test.sql(`create role ${owner.username} login createrole password '${owner.password}'`);
    await test.sql('grant create on database postgres to owner');
    test.logins = { ...test.logins, 'arn:owner': owner };
    const db = test.dataApi({ secretArn: 'arn:owner' });

    await migrate(db, readMigrations());
    // As RDS grants it to the first user of a cluster, and to no other.
    await expect(prepareRole(db, 'data_out_proxy', password)).rejects.toThrow('must be a member of rds_password');
    await test.sql('grant rds_password to owner');
    await prepareRole(db, 'data_out_proxy', password);
    await prepareRole(db, 'data_out_proxy', password);
    expect(await new RdsArchiveUsers(proxy()).find('central')).toBeUndefined();
  });
});

describe('the role of the direct API', () => {
  const readerSecret = 'arn:reader';
  const reader = () => test.dataApi({ secretArn: readerSecret });
  beforeAll(async () => {
    await test.empty();
    await migrate(test.dataApi(), readMigrations());
    await prepareRole(test.dataApi(), 'data_out_reader', password);
    await test.sql("insert into sda.datasets (stable_id) values ('EGAD1')");
    await test.sql(
      "insert into sda.dataset_references (dataset_id, reference_id, reference_scheme) values (1, 'x', 'X')",
    );
    await test.sql("insert into sda.dataset_event_log (dataset_id, event) values ('EGAD1', 'released')");
    await test.sql(
      "insert into sda.files (stable_id, archive_file_path, archive_file_size, header) values ('F', 'b', 1, '00')",
    );
    await test.sql('insert into sda.file_dataset (file_id, dataset_id) select id, 1 from sda.files');
  });
  beforeEach(() => {
    test.logins = { [readerSecret]: { username: 'data_out_reader', password } };
  });

  it('reads all that the catalogue of the direct API asks for', async () => {
    const catalogue = directCatalogue(reader());
    expect(await catalogue.evaluateAccess(['x'], { fileId: 'F' })).toMatchObject({
      entitled: [{ datasetId: 'EGAD1' }],
    });
    expect(await catalogue.isReleased('EGAD1')).toBe(true);
    expect(await catalogue.findReleasedFile({ fileId: 'F', datasetId: 'EGAD1' })).toMatchObject({ fileId: 'F' });
    expect(await catalogue.factsOf('F')).toMatchObject({ plaintextChecksums: [] });
    expect((await catalogue.filesOfDataset('EGAD1')[Symbol.asyncIterator]().next()).value).toMatchObject([
      { fileId: 'F' },
    ]);
  });

  mayNot(reader, [
    [
      "insert into sda.dataset_event_log (dataset_id, event) values ('EGAD1', 'released')",
      'permission denied for table',
    ],
    ["update sda.files set header = ''", 'permission denied for table files'],
    ['select * from sda.encryption_keys', 'permission denied for table encryption_keys'],
    ['select * from data_out.archive_users', 'permission denied for schema data_out'],
    ['select * from data_out.export_log', 'permission denied for schema data_out'],
  ]);
});

it('a role whose functions are gone can no longer log in until it is prepared again', async () => {
  test.logins = { 'arn:reader': { username: 'data_out_reader', password } };
  const asReader = () => test.dataApi({ secretArn: 'arn:reader' }).execute('select 1');
  await prepareRole(test.dataApi(), 'data_out_reader', password);
  await asReader();
  await closeRole(test.dataApi(), 'data_out_reader');
  const refusal = await asReader().catch((error: unknown) => error);
  expect(String((refusal as Error).cause)).toContain('password authentication failed');
  await prepareRole(test.dataApi(), 'data_out_reader', password);
  await asReader();
});

describe('the role of the state of exports', () => {
  const auditorSecret = 'arn:auditor';
  const auditor = () => test.dataApi({ secretArn: auditorSecret });
  beforeAll(async () => {
    await prepareRole(test.dataApi(), 'data_out_auditor', password);
  });
  beforeEach(() => {
    test.logins = { [auditorSecret]: { username: 'data_out_auditor', password } };
  });

  it('reads requests, their files and the audit trail', async () => {
    const records = exportRecords(auditor());
    const requestId = '7d4cbd3e-6f3e-4df5-9d9a-1c9b6e9d0e3d';
    expect(await records.newest('fega', {}, 0)).toEqual([]);
    expect(await records.find('fega', requestId)).toBeUndefined();
    expect(await records.files(requestId, 0)).toEqual([]);
    await auditor().execute('select * from data_out.export_log');
  });

  mayNot(auditor, [
    ['select public_key from data_out.requests', 'permission denied for table requests'],
    ['select depends_on from data_out.requests', 'permission denied for table requests'],
    ["update data_out.requests set state = 'complete'", 'permission denied for table requests'],
    ['delete from data_out.request_files', 'permission denied for table request_files'],
    ["insert into data_out.export_log (request_id, event) values (gen_random_uuid(), 'staged')", 'permission denied'],
    ['select * from data_out.archive_users', 'permission denied for table archive_users'],
    ['select * from sda.files', 'permission denied for schema sda'],
  ]);
});

describe('the role of the queues’ consumers', () => {
  const workerSecret = 'arn:worker';
  const worker = () => test.dataApi({ secretArn: workerSecret });
  beforeAll(async () => {
    await prepareRole(test.dataApi(), 'data_out_worker', password);
  });
  beforeEach(() => {
    test.logins = { [workerSecret]: { username: 'data_out_worker', password } };
  });

  it('does what each function of an export does', async () => {
    const pipeline = new ExportPipeline(test, workerSecret);
    pipeline.quota = { gib: 1, expiryDays: 30 };
    pipeline.grant('EGAD7');
    await pipeline.addDataset('EGAD7', {
      staged: Buffer.alloc(100),
      copied: Buffer.alloc(9 * 2 ** 20),
      lost: Buffer.alloc(100),
    });
    pipeline.archive.delete('bodies/lost');
    const states = async (requestId: string) => {
      const found = `select state from data_out.request_files where request_id = '${requestId}' order by file_id`;
      return [
        (await test.sql(`select state from data_out.requests where request_id = '${requestId}'`)).flat(),
        (await test.sql(found)).flat(),
      ];
    };
    const requestId = pipeline.request({ datasetId: 'EGAD7' });
    const rejected = pipeline.request({ datasetId: 'EGAD404' });
    await pipeline.deliverAll();
    expect(await states(requestId)).toEqual([['incomplete'], ['staged', 'given_up', 'staged']]);
    expect(await states(rejected)).toEqual([['rejected'], []]);

    // No delivery of this message succeeds.
    pipeline.put('smallFileExports', { requestId, fileId: 'staged' });
    pipeline.deadLetters.push(...pipeline.queues.smallFileExports.splice(0));
    await pipeline.deliverAll();

    await pipeline.event('EGAD7', 'deprecated');
    expect(await pipeline.withdraw()).toEqual([{ datasetId: 'EGAD7', found: 2, removed: 2 }]);
    await pipeline.deliverAll();
    expect(await states(requestId)).toEqual([['incomplete'], ['withdrawn', 'given_up', 'withdrawn']]);

    await keepRows(test.dataApi(), 30);
    await test.sql("update data_out.requests set settled_at = now() - interval '31 days'");
    expect((await pipeline.sweep()).deleted).toBe(5);
    expect(await states(requestId)).toEqual([[], []]);
  });

  mayNot(worker, [
    ['delete from data_out.requests', 'permission denied for table requests'],
    ['delete from data_out.request_files', 'permission denied for table request_files'],
    ["update data_out.export_log set reason = 'x'", 'permission denied for table export_log'],
    ['delete from data_out.export_log', 'permission denied for table export_log'],
    ['select * from data_out.retention', 'permission denied for table retention'],
    ['update data_out.retention set days = 30', 'permission denied for table retention'],
    ['update data_out.requests set requested_at = now()', 'permission denied for table requests'],
    [
      "insert into data_out.export_log (request_id, event, recorded_at) values (gen_random_uuid(), 'staged', now())",
      'permission denied for table export_log',
    ],
    ['select * from data_out.archive_users', 'permission denied for table archive_users'],
    [
      "insert into sda.dataset_event_log (dataset_id, event) values ('EGAD1', 'released')",
      'permission denied for table',
    ],
    ["update sda.files set header = ''", 'permission denied for table files'],
    ['select * from sda.encryption_keys', 'permission denied for table encryption_keys'],
  ]);
});

describe('the secret of the role', () => {
  const read = (value: unknown) => {
    const { handler } = scripted([{ status: 200, body: JSON.stringify({ SecretString: JSON.stringify(value) }) }]);
    const client = new SecretsManagerClient({ ...testClient, maxAttempts: 1, requestHandler: handler });
    return passwordOf('data_out_proxy', { client, secretArn: proxySecret });
  };

  it('has its password', async () => {
    expect(await read({ username: 'data_out_proxy', password })).toBe(password);
  });

  it.each([
    ['another user', { username: 'postgres', password }, 'username'],
    ['the user of another role', { username: 'data_out_worker', password }, 'username'],
    ['a short password', { username: 'data_out_proxy', password: 'secret' }, 'password'],
    ['a password that SASLprep would change', { username: 'data_out_proxy', password: `${password}ª` }, 'password'],
    ['no password', { username: 'data_out_proxy' }, 'password'],
  ])('with %s is refused, and not repeated', async (_, value, field) => {
    const refusal = await read(value).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(MalformedSecretError);
    expect((refusal as Error).message).toMatch(new RegExp(`^the secret arn:proxy is malformed: ${field}: \\w+$`));
  });
});
