import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type AuditFilter, type AuditRow, RdsAuditTrail } from '../../../../lib/ops/audit/trail.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';

const first = '00000000-0000-4000-8000-00000000000a';
const second = '00000000-0000-4000-8000-00000000000b';

let test: TestDatabase;
let trail: RdsAuditTrail;
beforeAll(async () => {
  test = await TestDatabase.shared();
  trail = new RdsAuditTrail(test.dataApi());
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(async () => {
  await test.sql('truncate data_out.export_log restart identity');
  await test.sql(`insert into data_out.export_log
      (request_id, event, reason, archive_kind, dataset_id, file_id, recipient, key_fingerprint, bytes)
    values ('${first}', 'rejected', 'not_released', null, 'EGAD1', null, null, null, null),
      ('${second}', 'accepted', null, 'fega', 'EGAD2', null, null, null, null),
      ('${second}', 'staged', null, 'fega', 'EGAD2', 'EGAF1', 'aa', 'bb', 9007199254740991)`);
});

async function rows(filter: AuditFilter, limit = 100): Promise<AuditRow[]> {
  const found: AuditRow[] = [];
  for await (const row of trail.newest(filter, limit)) found.push(row);
  return found;
}

describe('newest', () => {
  it('gives every column, times in UTC', async () => {
    await test.sql("update data_out.export_log set recorded_at = '2026-11-21 12:00:00.25+02' where event = 'staged'");
    expect((await rows({}))[0]).toEqual({
      id: 3,
      requestId: second,
      event: 'staged',
      reason: null,
      archiveKind: 'fega',
      datasetId: 'EGAD2',
      fileId: 'EGAF1',
      recipient: 'aa',
      keyFingerprint: 'bb',
      bytes: 9007199254740991,
      checksum: null,
      recordedAt: '2026-11-21T10:00:00.250Z',
    });
  });

  it('has no colon in its statement but those of parameters, for any parser', async () => {
    test.bodies.length = 0;
    await rows({ requestId: first });
    const { sql, parameters } = JSON.parse(test.bodies[0] ?? '');
    const named = parameters.map(({ name }: { name: string }) => `:${name}`);
    expect([...sql.matchAll(/:\w+/g)].map(([name]) => name).sort()).toEqual(named.sort());
  });

  it.each([
    [{}, [3, 2, 1]],
    [{ requestId: first }, [1]],
    [{ requestId: second.toUpperCase() }, [3, 2]],
    [{ requestId: '00000000-0000-4000-8000-00000000000c' }, []],
    [{ datasetId: 'EGAD2' }, [3, 2]],
    [{ fileId: 'EGAF1' }, [3]],
    [{ recipient: 'aa' }, [3]],
    [{ recipient: 'bb' }, []],
    [{ requestId: first, datasetId: 'EGAD2' }, []],
  ])('%j', async (filter, ids) => {
    expect((await rows(filter)).map((row) => row.id)).toEqual(ids);
  });

  it('gives each row once over pages, and no more than asked for', async () => {
    await test.sql(
      `insert into data_out.export_log (request_id, event) select gen_random_uuid(), 'accepted' from generate_series(1, 897)`,
    );
    const ids = (await rows({}, 1000)).map((row) => row.id);
    expect(ids).toEqual(Array.from({ length: 900 }, (_, index) => 900 - index));
    expect(await rows({}, 450)).toHaveLength(450);
  });
});
