import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { BufferedService } from '../../../../lib/local/endpoint/buffered-service.ts';
import { AwsError } from '../../../../lib/local/endpoint/errors.ts';
import type { SqlDatabase } from '../../../../lib/local/rds-data/database.ts';
import { rdsDataService } from '../../../../lib/local/rds-data/rds-data.ts';
import { temporaryDatabase } from '../../../helpers/temporary-database.ts';

const target = { resourceArn: 'arn:cluster', secretArn: 'arn:secret', database: 'sda' };
const reader = { username: 'The Reader', password: 'made by PostgreSQL' };
const logins = new Map([
  ['arn:reader', reader],
  ['arn:stale', { ...reader, password: 'an older one' }],
  ['arn:stranger', { username: 'stranger', password: 'x' }],
]);
let database: SqlDatabase;
let service: BufferedService;

beforeAll(async () => {
  database = await temporaryDatabase();
  service = rdsDataService(database, {
    arn: 'arn:cluster',
    secretArn: 'arn:secret',
    databaseName: 'sda',
    login: (arn) => logins.get(arn),
  });
  await run('create table t (id uuid, n int, label text, doc jsonb, at timestamptz, raw bytea)');
});
afterAll(() => database.close());

const call = async (action: string, input: object): Promise<Record<string, unknown>> =>
  JSON.parse((await service.handle(action, { ...target, ...input }, new Uint8Array(), {})).body);
const run = (sql: string, parameters: object[] = [], rest: object = {}) =>
  call('ExecuteStatement', { sql, parameters, ...rest });
const refusal = async (attempt: Promise<unknown>) => {
  try {
    await attempt;
  } catch (error) {
    if (error instanceof AwsError) return [error.code, error.message];
    throw error;
  }
  return undefined;
};

const id = '7d444840-9dc0-11d1-b245-5ffdce74fad2';
const row = [
  { name: 'id', value: { stringValue: id }, typeHint: 'UUID' },
  { name: 'n', value: { longValue: 5 } },
  { name: 'label', value: { stringValue: `it's` } },
  { name: 'doc', value: { stringValue: '{"a":[1]}' }, typeHint: 'JSON' },
  { name: 'at', value: { stringValue: '2026-11-20 10:00:00.5' }, typeHint: 'TIMESTAMP' },
];

describe('ExecuteStatement', () => {
  it('takes typed parameters and gives typed fields', async () => {
    const inserted = await run(`insert into t values (:id, :n, :label, :doc, :at, decode('0102', 'hex'))`, row);
    expect(inserted).toEqual({ numberOfRecordsUpdated: 1, generatedFields: [] });
    const selected = await run('select * from t where id = :id', row.slice(0, 1), { includeResultMetadata: true });
    expect(selected.records).toEqual([
      [
        { stringValue: id },
        { longValue: 5 },
        { stringValue: `it's` },
        { stringValue: '{"a": [1]}' },
        { stringValue: '2026-11-20 10:00:00.5' },
        { blobValue: 'AQI=' },
      ],
    ]);
    const columns = selected.columnMetadata as { name: string; typeName: string }[];
    expect(columns.map(({ name, typeName }) => [name, typeName]).slice(0, 5)).toEqual([
      ['id', 'uuid'],
      ['n', 'int4'],
      ['label', 'text'],
      ['doc', 'jsonb'],
      ['at', 'timestamptz'],
    ]);
  });

  it('fails without a cast that the Data API needs', async () => {
    const text = { name: 'id', value: { stringValue: id } };
    expect(await refusal(run('select 1 from t where id = :id', [text]))).toEqual([
      'DatabaseErrorException',
      'ERROR: operator does not exist: uuid = character varying; SQLState: 42883',
    ]);
    expect((await run('select 1 from t where id = :id::uuid', [text])).records).toEqual([[{ longValue: 1 }]]);
  });

  it.each([
    ['several statements', 'select 1; select 2', [], 'ValidationException'],
    ['an array', 'select :a', [{ name: 'a', value: { arrayValue: { stringValues: [] } } }], 'BadRequestException'],
    ['a missing parameter', 'select :a', [], 'BadRequestException'],
    ['an array as a result', 'select array[1, 2]', [], 'UnsupportedResultException'],
    ['more than 1 MiB', `select repeat('x', 1100000)`, [], 'BadRequestException'],
  ])('refuses %s', async (_, sql, parameters, code) => {
    expect((await refusal(run(sql, parameters)))?.[0]).toBe(code);
  });
});

describe('transactions', () => {
  const begin = async () => String((await call('BeginTransaction', {})).transactionId);
  const count = async () => (await run('select count(*)::int from t')).records;
  const insert = 'insert into t (n) values (:n)';
  const n = [{ name: 'n', value: { longValue: 1 } }];

  it('take effect when they are committed, and not when they are rolled back', async () => {
    const before = await count();
    const rolledBack = await begin();
    await run(insert, n, { transactionId: rolledBack });
    await call('RollbackTransaction', { transactionId: rolledBack });
    expect(await count()).toEqual(before);

    const committed = await begin();
    await run(insert, n, { transactionId: committed });
    const waiting = count();
    await call('CommitTransaction', { transactionId: committed });
    expect(await waiting).not.toEqual(before);
  });
});

describe('the secret of another role', () => {
  const secretArn = 'arn:reader';
  const as = (sql: string, rest: object = {}) => run(sql, [], { secretArn, ...rest });
  const denied = ['DatabaseErrorException', 'ERROR: permission denied for table hidden; SQLState: 42501'];
  const who = 'select current_user::text, session_user::text';
  const isReader = [[{ stringValue: 'The Reader' }, { stringValue: 'The Reader' }]];
  beforeAll(async () => {
    await run(`create role "The Reader" login password '${reader.password}'`);
    await run('create table hidden (n int)');
    await run('create table shown (n int)');
    await run('grant select, insert on shown to "The Reader"');
  });

  it('runs statements as that role, and the next one as the owner again', async () => {
    expect((await as(who)).records).toEqual(isReader);
    expect(await refusal(as('select * from hidden'))).toEqual(denied);
    expect((await as('select * from shown')).records).toEqual([]);
    expect((await run('select * from hidden')).records).toEqual([]);
  });

  it('runs transactions as that role, whichever way they end', async () => {
    const begin = async () => String((await call('BeginTransaction', { secretArn })).transactionId);
    const committed = await begin();
    expect((await as(who, { transactionId: committed })).records).toEqual(isReader);
    await as('insert into shown values (1)', { transactionId: committed });
    await call('CommitTransaction', { secretArn, transactionId: committed });
    const failed = await begin();
    expect(await refusal(as('select * from hidden', { transactionId: failed }))).toEqual(denied);
    await call('RollbackTransaction', { secretArn, transactionId: failed });
    expect((await run('select * from shown')).records).toEqual([[{ longValue: 1 }]]);
    expect((await run('select * from hidden')).records).toEqual([]);
  });

  it('cannot speak in a transaction that others began', async () => {
    const transactionId = String((await call('BeginTransaction', {})).transactionId);
    expect((await refusal(as(who, { transactionId })))?.[0]).toBe('BadRequestException');
    await call('RollbackTransaction', { transactionId });
  });

  it.each(['arn:stale', 'arn:stranger'])(
    '%s with a wrong login is refused, and blocks no other caller',
    async (wrong) => {
      const [code, message] = (await refusal(run('select 1', [], { secretArn: wrong }))) ?? [];
      expect(code).toBe('DatabaseErrorException');
      expect(message).toMatch(/^FATAL: password authentication failed for user ".*"; SQLState: 28P01$/);
      expect((await refusal(call('BeginTransaction', { secretArn: wrong })))?.[0]).toBe('DatabaseErrorException');
      expect((await run('select 1')).records).toEqual([[{ longValue: 1 }]]);
    },
  );
});

test('a transaction that cannot be committed is over, and lets the next statement in', async () => {
  await run('create table parent (n int primary key)');
  await run('create table child (n int references parent deferrable initially deferred)');
  const { transactionId } = await call('BeginTransaction', {});
  await run('insert into child values (1)', [], { transactionId });
  const [code, message] = (await refusal(call('CommitTransaction', { transactionId }))) ?? [];
  expect([code, message]).toEqual(['DatabaseErrorException', expect.stringContaining('SQLState: 23503')]);
  expect((await run('select n from child')).records).toEqual([]);
  expect((await refusal(call('RollbackTransaction', { transactionId })))?.[0]).toBe('TransactionNotFoundException');
});
