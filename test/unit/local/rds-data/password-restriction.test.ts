import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SqlDatabase } from '../../../../lib/local/rds-data/database.ts';
import { temporaryDatabase } from '../../../helpers/temporary-database.ts';

/** The messages are those of the Aurora user guide. */
const refusal = /^ERROR: must be a member of rds_password to alter passwords; SQLState: 42501$/;
const worker = { username: 'worker', password: 'made by PostgreSQL' };
const maker = { username: 'maker', password: 'made by PostgreSQL' };
const manager = { username: 'manager', password: 'made by PostgreSQL' };
let [restricted, free]: SqlDatabase[] = [];
beforeAll(async () => {
  [restricted, free] = [await temporaryDatabase(), await temporaryDatabase(false)];
  for (const database of [restricted, free]) {
    for (const { username, password } of [worker, maker, manager]) {
      const right = username === 'worker' ? '' : 'createrole';
      await database.run(`create role ${username} login ${right} password '${password}'`, []);
    }
    await database.run('grant rds_password to manager', []);
    await database.run('create table t (n int primary key)', []);
    await database.run('grant all on t to worker', []);
  }
});
afterAll(() => Promise.all([restricted?.close(), free?.close()]));

const as = (login: typeof worker, sql: string, transactionId?: string) =>
  restricted!.run(sql, [], { login, transactionId });

it.each([
  "alter role worker password 'mine'",
  "ALTER USER current_user\n PASSWORD 'mine'",
  'alter role worker password null',
])('a login may not run %j, and keeps its password', async (sql) => {
  await expect(as(worker, sql)).rejects.toThrow(refusal);
  await as(worker, 'select 1');
});

it('a refusal ends the transaction', async () => {
  const id = await restricted!.begin(worker);
  await as(worker, 'insert into t values (1)', id);
  await expect(as(worker, 'alter role worker password null', id)).rejects.toThrow(refusal);
  await expect(as(worker, 'select 1', id)).rejects.toThrow('SQLState: 25P02');
  await restricted!.end(id, 'ROLLBACK');
  expect((await as(worker, 'select n from t')).rows).toEqual([]);
});

it.each([
  "create role other password 'x'",
  "alter role worker password 'x'",
  "create role other valid until 'infinity'",
])('a login that may make roles may not run %j', async (sql) => {
  await restricted!.run('grant worker to maker with admin option', []);
  await expect(as(maker, sql)).rejects.toThrow(refusal);
});

it('roles without a password may be made, and members of rds_password set passwords', async () => {
  await as(maker, 'create role other login');
  await restricted!.run('grant other to manager with admin option', []);
  await as(manager, "alter role other password 'another'");
  await as({ username: 'other', password: 'another' }, 'select 1');
});

it('other statements of the same words work as before', async () => {
  for (const sql of ['insert into t values (2) on conflict do nothing', 'do $$ begin perform 1; end $$'])
    await as(worker, sql);
  expect((await as(worker, 'select n from t')).rows).toEqual([['2']]);
  await expect(as(worker, 'alter table t add m int')).rejects.toThrow('must be owner of table t');
});

it('without the parameter each login changes its own password, as in PostgreSQL', async () => {
  await free!.run("alter role worker password 'mine'", [], { login: worker });
  await expect(free!.run('select 1', [], { login: worker })).rejects.toThrow('28P01');
});

it.each([
  "alter role passing password 'another'",
  "update pg_authid set rolpassword = null where rolname = 'passing'",
  'drop role passing',
])('a login that was let in is not let in after %j', async (sql) => {
  const passing = { username: 'passing', password: 'right so far' };
  await free!.run('drop role if exists passing', []);
  await free!.run(`create role passing login password '${passing.password}'`, []);
  await free!.run('select 1', [], { login: passing });
  await free!.run(sql, []);
  await expect(free!.run('select 1', [], { login: passing })).rejects.toThrow('28P01');
  await expect(free!.begin(passing)).rejects.toThrow('28P01');
});

it('a role that a statement took ends with it', async () => {
  await restricted!.run('grant other to worker', []);
  await as(worker, 'set role other');
  expect((await as(worker, 'select current_user')).rows).toEqual([['worker']]);
  expect((await restricted!.run('select current_user', [])).rows).toEqual([['postgres']]);
});

it.each([
  ['on', () => restricted],
  ['off', () => free],
])('the parameter is %s', async (value, database) => {
  expect((await database()!.run('show rds.restrict_password_commands', [])).rows).toEqual([[value]]);
});
