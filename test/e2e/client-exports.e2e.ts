import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../helpers/cli-run.ts';
import { exportRows, type RequestRow, requestIdOf } from '../helpers/export-rows.ts';
import { blocksOf } from '../helpers/pages.ts';
import { Service } from '../helpers/service.ts';

/** What administrators see of exports, from the command to the database. */
let service: Service;
let env: Record<string, string>;
const [incomplete, staging, elsewhere] = [requestIdOf(1), requestIdOf(2), requestIdOf(3)] as const;

beforeAll(async () => {
  service = await Service.shared();
  const { proxyUrl, admin } = service.connection;
  env = { DATA_OUT_URL: proxyUrl, DATA_OUT_ADMIN_USERNAME: admin.username, DATA_OUT_ADMIN_PASSWORD: admin.password };
  const settled = { settledAt: '2026-11-21 10:09:00Z', receipt: `EGAD1-${incomplete}.delivery.jws`, staged: 1 };
  await add(
    { requestId: incomplete, state: 'incomplete', files: 2, stagedBytes: 10, ...settled },
    { staged: 1, given_up: 1 },
  );
  await add({ requestId: staging, requestedAt: '2026-11-22 10:00:00Z' }, { staged: 1, waiting: 1, sent: 1 });
  await add({ requestId: elsewhere, archiveKind: 'gdi' });
});
afterAll(() => service?.stop());

async function add(row: RequestRow, files = {}): Promise<void> {
  for (const statement of exportRows(row, files)) await service.sql(statement);
}

test('the commands of docs/operations.md work', async () => {
  const [block] = blocksOf('docs/operations.md').filter(({ section }) => section === 'What happened to an export');
  const lines = block?.text.trim().split('\n') ?? [];
  expect(lines).toHaveLength(2);
  for (const line of lines) {
    const { stdout, exitCode } = await runCli(line.split(' ').slice(2), { env });
    expect([line, exitCode]).toEqual([line, 0]);
    expect(stdout.toString()).toContain(incomplete);
  }
});
