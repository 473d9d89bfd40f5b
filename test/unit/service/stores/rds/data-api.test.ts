import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AwsError } from '../../../../../lib/local/endpoint/errors.ts';
import { sqlRows } from '../../../../../lib/service/stores/rds/data-api.ts';
import { TestDatabase } from '../../../../helpers/data-api.ts';
import { brokenConnection } from '../../../../helpers/http-handler.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await TestDatabase.open();
  test.isOnWire = true;
  await test.sql('create table thing (id integer primary key, note text)');
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(async () => {
  await test.sql('delete from thing');
  test.faults.length = 0;
  test.actions.length = 0;
  test.pauses.length = 0;
});

const one = z.object({ value: z.unknown() });
const insert = "insert into thing values (1, 'x') on conflict do nothing";

describe('values', () => {
  it.each([
    ['text', 'cast(:v as text)', 'a ’quoted’ ünï', 'a ’quoted’ ünï'],
    ['an integer', 'cast(:v as integer)', 42, 42],
    ['a bigint, exact above 2^53', '9223372036854775807', null, 9223372036854775807n],
    ['a bigint from a number', 'cast(:v as bigint)', 9007199254740991, 9007199254740991n],
    ['a double', 'cast(:v as double precision)', 1.5, 1.5],
    ['a boolean', ':v', true, true],
    ['null', 'cast(:v as text)', null, null],
    ['a uuid', ':v', { uuid: '6f2c3d1e-0000-4000-8000-000000000001' }, '6f2c3d1e-0000-4000-8000-000000000001'],
    ['json', "cast(:v as jsonb) ->> 'a'", { json: { a: 'b' } }, 'b'],
    ['a time', 'cast(:v as text)', { timestamp: new Date('2026-01-02T03:04:05.678Z') }, '2026-01-02 03:04:05.678'],
    ['bytes', "decode('00ff', 'hex')", null, Uint8Array.of(0, 255)],
  ] as const)('%s', async (_name, expression, value, expected) => {
    const parameters = expression.includes(':v') ? { v: value } : {};
    const rows = await test.dataApi().query(one, `select ${expression} as value`, parameters);
    expect(rows).toEqual([{ value: expected }]);
  });

  it('refuses an integer that JSON would round', async () => {
    const rounded = test.dataApi().query(one, 'select cast(:v as bigint) as value', { v: 9007199254740993n });
    await expect(rounded).rejects.toThrow(RangeError);
  });

  it('refuses an array column', () => {
    const records = [[{ arrayValue: { longValues: [1, 2] } }]];
    expect(() => sqlRows(records, [{ label: 'value', typeName: '_int4' }])).toThrow(TypeError);
  });

  it('refuses a row of another shape than asked for', async () => {
    const shape = z.object({ value: z.number() });
    await expect(test.dataApi().query(shape, "select 'x' as value")).rejects.toThrow(z.ZodError);
  });
});

describe('retries', () => {
  it.each([
    ['DatabaseResumingException', new AwsError(400, 'DatabaseResumingException', 'resuming')],
    ['InternalServerErrorException', new AwsError(500, 'InternalServerErrorException', 'oops')],
    ['ThrottlingException', new AwsError(400, 'ThrottlingException', 'slow down')],
    ['a deadlock', new AwsError(400, 'DatabaseErrorException', 'ERROR: deadlock detected; SQLState: 40P01')],
    ['a password that rotates', new AwsError(400, 'DatabaseErrorException', 'FATAL: password; SQLState: 28P01')],
    ['a broken connection', brokenConnection()],
  ])('%s', async (_name, error) => {
    test.faults.push({ action: 'ExecuteStatement', error });
    await test.dataApi().execute(insert);
    expect(test.actions).toEqual(['ExecuteStatement', 'ExecuteStatement']);
    expect(test.pauses).toEqual([100]);
  });

  it('repeats a write whose answer was lost, and leaves one row', async () => {
    test.faults.push({ action: 'ExecuteStatement', error: brokenConnection(), carriedOut: true });
    await test.dataApi().execute(insert);
    expect(await test.sql('select id from thing')).toEqual([['1']]);
  });

  it('waits for a paused cluster as long as the caller has time, then says when to come back', async () => {
    for (let i = 0; i < 40; i += 1) {
      test.faults.push({ action: 'ExecuteStatement', error: new AwsError(400, 'DatabaseResumingException', '') });
    }
    const started = test.now;
    const failure = test.dataApi({ remainingMs: () => 20_000 }).execute(insert);
    await expect(failure).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
    await expect(failure).rejects.toMatchObject({ retryAfterSeconds: 15 });
    expect(test.now - started).toBeGreaterThan(17_000);
    expect(test.now - started).toBeLessThan(20_000);
  });

  it('asks how much time there is at every call', async () => {
    let remaining = 10_000;
    const db = test.dataApi({ remainingMs: () => remaining });
    const resuming = { action: 'ExecuteStatement', error: new AwsError(400, 'DatabaseResumingException', '') };
    test.faults.push(resuming);
    await db.execute(insert);
    remaining = 50;
    test.faults.push(resuming);
    await expect(db.execute(insert)).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
  });

  it.each([
    ['a mistake in the statement', 'selec 1', 'DatabaseErrorException'],
    ['several statements in one', 'select 1; select 2', 'ValidationException'],
  ])('does not repeat %s', async (_name, sql, name) => {
    await expect(test.dataApi().execute(sql)).rejects.toMatchObject({ name });
    expect(test.actions).toHaveLength(1);
  });

  it('does not repeat a refusal of the secret', async () => {
    const denied = test.dataApi({ secretArn: 'arn:aws:secretsmanager:test:1:other' }).execute(insert);
    await expect(denied).rejects.toMatchObject({ name: 'SecretsErrorException' });
    expect(test.pauses).toEqual([]);
  });
});

describe('transactions', () => {
  it('commit all statements or none', async () => {
    const db = test.dataApi();
    const failed = db.transaction(async (transaction) => {
      await transaction.execute("insert into thing values (1, 'a')");
      throw new Error('stop');
    });
    await expect(failed).rejects.toThrow('stop');
    expect(await test.sql('select * from thing')).toEqual([]);
    const rows = await db.transaction(async (transaction) => {
      await transaction.execute("insert into thing values (1, 'a')");
      return transaction.query(z.object({ id: z.number() }), 'select id from thing');
    });
    expect(rows).toEqual([{ id: 1 }]);
    expect(await test.sql('select * from thing')).toEqual([['1', 'a']]);
  });

  it('run again as a whole when a statement fails for a while', async () => {
    let runs = 0;
    test.faults.push({ action: 'ExecuteStatement', error: new AwsError(503, 'ServiceUnavailableError', '') });
    await test.dataApi().transaction(async (transaction) => {
      runs += 1;
      await transaction.execute(insert);
    });
    expect(runs).toBe(2);
    expect(test.actions).toContain('RollbackTransaction');
    expect(await test.sql('select id from thing')).toEqual([['1']]);
  });

  it('run again when the answer to the commit was lost', async () => {
    test.faults.push({ action: 'CommitTransaction', error: brokenConnection(), carriedOut: true });
    await test.dataApi().transaction((transaction) => transaction.execute(insert));
    expect(await test.sql('select id from thing')).toEqual([['1']]);
  });
});
