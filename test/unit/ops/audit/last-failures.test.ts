import { afterAll, beforeAll, expect, test } from 'vitest';
import { RdsLastFailures } from '../../../../lib/ops/audit/last-failures.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';

const failed = '00000000-0000-4000-8000-00000000000a';
const staging = '00000000-0000-4000-8000-00000000000b';
const unknown = '00000000-0000-4000-8000-00000000000c';

let database: TestDatabase;
beforeAll(async () => {
  database = await TestDatabase.shared();
  await database.sql(`insert into data_out.requests (request_id, requested_at, state, reason) values
    ('${failed}', now(), 'failed', 'temporarily_unavailable'), ('${staging}', now(), 'accepted', null)`);
  await database.sql(`insert into data_out.request_files (request_id, file_id, state, reason) values
    ('${staging}', 'EGAF1', 'given_up', 'archive_damaged'), ('${staging}', 'EGAF2', 'pending', null)`);
});
afterAll(() => database[Symbol.asyncDispose]());

test('gives the reason of each request and file, in the order asked', async () => {
  const asked = [
    { requestId: staging, fileId: 'EGAF2' },
    { requestId: staging, fileId: 'EGAF1' },
    { requestId: failed },
    { requestId: staging },
    { requestId: unknown },
    { requestId: unknown, fileId: 'EGAF1' },
  ];
  const reasons = [undefined, 'archive_damaged', 'temporarily_unavailable', undefined, undefined, undefined];
  expect(await new RdsLastFailures(database.dataApi()).of(asked)).toEqual(reasons);
});

test('asks for many in several statements', async () => {
  const asked = Array.from({ length: 900 }, (_, i) => ({
    requestId: staging,
    fileId: i === 850 ? 'EGAF1' : `EGAF9${i}`,
  }));
  const reasons = await new RdsLastFailures(database.dataApi()).of(asked);
  expect([reasons.length, reasons.indexOf('archive_damaged'), reasons.filter(Boolean).length]).toEqual([900, 850, 1]);
});
