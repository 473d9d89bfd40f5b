import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AwsError } from '../../../../../lib/local/endpoint/errors.ts';
import { MigrationConflictError, migrate, migration } from '../../../../../lib/service/stores/rds/migrate.ts';
import { TestDatabase } from '../../../../helpers/data-api.ts';
import { readMigrations } from '../../../../helpers/read-migrations.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await TestDatabase.open();
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(() => test.empty());

/** Tables as an ingestion pipeline leaves them at schema version 24, with more columns and data than this service reads. */
const pipeline = `
  create schema sda;
  create type sda.checksum_algorithm as enum ('MD5', 'SHA256', 'SHA384', 'SHA512');
  create type sda.checksum_source as enum ('UPLOADED', 'ARCHIVED', 'UNENCRYPTED');
  create table sda.datasets (id serial primary key, stable_id text unique, title text, description text,
    created_at timestamp with time zone default clock_timestamp());
  create table sda.encryption_keys (key_hash text primary key,
    created_at timestamp with time zone not null default clock_timestamp(), deprecated_at timestamp with time zone,
    description text);
  create table sda.files (id uuid primary key default gen_random_uuid(), stable_id text unique, submission_user text,
    submission_file_path text default '' not null, submission_file_size bigint,
    archive_file_path text default '' not null, archive_file_size bigint, decrypted_file_size bigint,
    backup_path text, archive_location text, backup_location text, submission_location text, header text, encryption_method text,
    key_hash text references sda.encryption_keys(key_hash), created_by name default current_user,
    last_modified_by name default current_user, created_at timestamp with time zone default clock_timestamp(),
    last_modified timestamp with time zone default clock_timestamp());
  create table sda.checksums (id serial primary key, file_id uuid references sda.files(id), checksum text,
    type sda.checksum_algorithm, source sda.checksum_source, constraint unique_checksum unique (file_id, type, source));
  create table sda.dataset_references (id serial primary key, dataset_id int references sda.datasets(id),
    reference_id text not null, reference_scheme text not null,
    created_at timestamp with time zone default clock_timestamp(), expired_at timestamp with time zone);
  create table sda.file_dataset (id serial primary key, file_id uuid references sda.files(id),
    dataset_id int references sda.datasets(id), constraint unique_file_dataset unique (file_id, dataset_id));
  create table sda.dataset_events (id serial primary key, title varchar(64) unique, description text);
  insert into sda.dataset_events (id, title) values (10, 'registered'), (20, 'released'), (30, 'deprecated');
  create table sda.dataset_event_log (id serial primary key, dataset_id text references sda.datasets(stable_id),
    event text references sda.dataset_events(title), message jsonb,
    event_date timestamp with time zone default clock_timestamp());
  insert into sda.datasets (stable_id) values ('EGAD1');
  insert into sda.dataset_event_log (dataset_id, event) values ('EGAD1', 'released')`;

const names = ['baseline', 'files-without-user', 'no-index-of-contents'];
const tables = `select table_schema || '.' || table_name from information_schema.tables
  where table_schema in ('sda', 'data_out') order by 1`;
const indexes = "select indexname from pg_indexes where schemaname in ('sda', 'data_out') order by 1";

describe('the migrations', () => {
  it('make an empty database ready, and do nothing the second time', async () => {
    expect(await migrate(test.dataApi(), readMigrations())).toEqual(names);
    const made = [await test.sql(tables), await test.sql(indexes)];
    expect(made[0]?.flat()).toEqual([
      'data_out.archive_users',
      'data_out.export_log',
      'data_out.request_files',
      'data_out.requests',
      'data_out.retention',
      'data_out.schema_migrations',
      'sda.checksums',
      'sda.dataset_event_log',
      'sda.dataset_events',
      'sda.dataset_references',
      'sda.datasets',
      'sda.encryption_keys',
      'sda.file_dataset',
      'sda.files',
    ]);
    expect(await test.sql('select title from sda.dataset_events order by id')).toEqual([
      ['registered'],
      ['released'],
      ['deprecated'],
    ]);
    expect(await migrate(test.dataApi(), readMigrations())).toEqual([]);
    expect([await test.sql(tables), await test.sql(indexes)]).toEqual(made);
  });

  it("leave an ingestion pipeline's tables and rows as they are", async () => {
    for (const statement of pipeline.split(';')) await test.sql(statement);
    const columns =
      "select table_name, column_name, data_type, is_nullable from information_schema.columns where table_schema = 'sda' order by 1, 2";
    const before = await test.sql(columns);
    expect(await migrate(test.dataApi(), readMigrations())).toEqual(names);
    expect(await test.sql(columns)).toEqual(before);
    expect(await test.sql('select dataset_id, event from sda.dataset_event_log')).toEqual([['EGAD1', 'released']]);
    expect(await test.sql('select count(*) from sda.dataset_events')).toEqual([['3']]);
    expect((await test.sql(indexes)).flat()).toContain('data_out_newest_dataset_event');
  });

  it('give the table of a pipeline before version 23 the place of a body, and nothing else', async () => {
    for (const statement of pipeline.split(';')) await test.sql(statement);
    const columns =
      "select column_name, data_type from information_schema.columns where table_name = 'files' order by 1";
    const current = await test.sql(columns);
    await test.sql('alter table sda.files drop column archive_location');
    await migrate(test.dataApi(), readMigrations());
    expect(await test.sql(columns)).toEqual(current);
    expect(current).toContainEqual(['archive_location', 'text']);
  });

  it('stop, and change nothing, where a pipeline of another age has tables without a column that is read', async () => {
    for (const statement of pipeline.split(';')) await test.sql(statement);
    await test.sql('alter table sda.files drop column key_hash');
    const failed = migrate(test.dataApi(), readMigrations());
    await expect(failed).rejects.toThrow(/column f\.key_hash does not exist/);
    expect(await test.sql(tables)).not.toContainEqual(['data_out.schema_migrations']);
  });

  it('run once when two deployments run them at the same moment', async () => {
    const applied = await Promise.all([
      migrate(test.dataApi(), readMigrations()),
      migrate(test.dataApi(), readMigrations()),
    ]);
    expect(applied.flat()).toEqual(names);
    expect(await test.sql('select count(*) from data_out.schema_migrations')).toEqual([[String(names.length)]]);
  });

  it('make indexes on tables with rows for longer than a call may take', async () => {
    for (const statement of pipeline.split(';')) await test.sql(statement);
    const error = new AwsError(400, 'StatementTimeoutException', 'Request timed out');
    const action = 'ExecuteStatement';
    // One continues in the database, and another has ended when its answer is lost.
    test.faults.push({ action, error, body: /create index .*data_out_files_of_dataset/ });
    test.faults.push({ action, error, body: /create index .*data_out_files_by_body/, carriedOut: true });
    let pauses = 0;
    const sleep = async () => {
      pauses += 1;
      if (pauses === 3)
        await test.sql('create index data_out_files_of_dataset on sda.file_dataset (dataset_id, file_id)');
    };
    test.bodies.length = 0;
    expect(await migrate(test.dataApi({ sleep, remainingMs: () => 600_000 }), readMigrations())).toEqual(names);
    expect(pauses).toBe(4);
    const made = test.bodies
      .map((body) => JSON.parse(body))
      .filter(({ sql = '' }) => /^create index .* on sda\./s.test(sql));
    const before = made.filter(({ transactionId }) => transactionId === undefined);
    expect(before.map(({ sql }) => /exists (\w+)/.exec(sql)?.[1])).toEqual([
      'data_out_newest_dataset_event',
      'data_out_files_of_dataset',
      'data_out_dataset_by_reference',
      'data_out_files_by_checksum',
      'data_out_files_by_body',
      'data_out_files_by_path',
      'data_out_files_without_user',
    ]);
    expect(before.map(({ continueAfterTimeout }) => continueAfterTimeout)).toEqual(before.map(() => true));
    const dropped = 'data_out_files_by_checksum';
    const kept = before.map(({ sql }) => /exists (\w+)/.exec(sql)?.[1]).filter((name) => name !== dropped);
    expect((await test.sql(indexes)).flat()).toEqual(expect.arrayContaining(kept));
  });

  it('wait for a cluster that resumes', async () => {
    for (let i = 0; i < 6; i += 1) {
      test.faults.push({ action: 'BeginTransaction', error: new AwsError(400, 'DatabaseResumingException', '') });
    }
    expect(await migrate(test.dataApi(), readMigrations())).toEqual(names);
    expect(test.pauses).toHaveLength(6);
  });

  it('are all in the bundle of the function: each file is imported there', () => {
    const folder = new URL('../../../../../lib/service/stores/rds/migrations/', import.meta.url);
    const source = readFileSync(new URL('../../../../../lambdas/migrate.ts', import.meta.url), 'utf8');
    const imported = [...source.matchAll(/^import (\w+) from '.*\/migrations\/(.+\.sql)';$/gm)];
    expect(imported.map(([, , file]) => file)).toEqual(readdirSync(folder).filter((file) => file.endsWith('.sql')));
    for (const [, name, file] of imported) expect(source).toContain(`migration('${file}', ${name})`);
  });
});

describe('migrate', () => {
  const first = migration('0001-first.sql', '-- statement\ncreate table first (id integer);');
  const second = migration('0002-second.sql', '-- statement\ncreate table second (id integer)');

  it('applies what was added since', async () => {
    expect(await migrate(test.dataApi(), [first])).toEqual(['first']);
    expect(await migrate(test.dataApi(), [first, second])).toEqual(['second']);
    expect(await test.sql('select version, name, checksum from data_out.schema_migrations order by 1')).toEqual([
      ['1', 'first', first.checksum],
      ['2', 'second', second.checksum],
    ]);
  });

  it.each([
    ['changed', [migration('0001-first.sql', '-- statement\ncreate table other (id integer);'), second]],
    ['lost', [second]],
    ['put before', [migration('0000-zero.sql', '-- statement\nselect 1'), first, second]],
  ])('refuses when an applied migration was %s', async (_name, migrations) => {
    await migrate(test.dataApi(), [first]);
    await expect(migrate(test.dataApi(), migrations)).rejects.toThrow(MigrationConflictError);
    expect(await test.sql("select to_regclass('second')")).toEqual([[null]]);
  });

  it('leaves nothing of a migration that fails half-way', async () => {
    const broken = migration('0001-broken.sql', '-- statement\ncreate table half (id integer)\n-- statement\nselec 1');
    await expect(migrate(test.dataApi(), [broken])).rejects.toMatchObject({ name: 'DatabaseErrorException' });
    expect(await test.sql("select to_regclass('half')")).toEqual([[null]]);
  });
});

describe('migration', () => {
  it('splits at the marker lines, whatever a statement holds', () => {
    const text = [
      '-- its own file, in which each',
      '-- statement follows a marker',
      '-- statement: with a comment',
      "do $$ begin perform 'a;b'; end $$;",
      '-- statement',
      "select '-- statement';",
    ].join('\n');
    expect(migration('0007-some-name.sql', text)).toMatchObject({
      version: 7,
      name: 'some-name',
      statements: ["do $$ begin perform 'a;b'; end $$", "select '-- statement'"],
    });
  });

  it('has no empty statement in any file, which the Data API need not accept', () => {
    const empty = readMigrations().filter(({ statements }) => statements.length === 0 || statements.includes(''));
    expect(empty.map(({ name }) => name)).toEqual([]);
  });

  it('has the SHA-256 of the file, the same with either kind of line end', () => {
    // printf '%s\n' '-- statement' 'select 1' | sha256sum
    const checksum = 'cc56843436159d805f08352b6c5a887d032b76b4d97b324e16704a7640bc0d1a';
    expect(migration('0001-a.sql', '-- statement\nselect 1\n').checksum).toBe(checksum);
    expect(migration('0001-a.sql', '-- statement\r\nselect 1\r\n').checksum).toBe(checksum);
  });

  it('refuses a file name that has no place in the order', () => {
    expect(() => migration('catalogue.sql', '')).toThrow(RangeError);
  });
});
