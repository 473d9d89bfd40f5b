import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestDatabase } from '../../helpers/data-api.ts';
import { readPage } from '../../helpers/pages.ts';

/** Questions to the database that operators copy. The Data API returns no columns of PostgreSQL's type `name`. */
const pages = `${readPage('docs/runbook.md')}${readPage('docs/operations.md')}`;
const statements = [...pages.matchAll(/(?:`|--sql ")((?:select|show)\s[^`"]+)[`"]/g)].map(([, statement = '']) =>
  statement.replaceAll(/\s+/g, ' ').replace("'ID'", "'00000000-0000-4000-8000-000000000001'"),
);

let database: TestDatabase;
beforeAll(async () => {
  database = await TestDatabase.shared();
});
afterAll(() => database[Symbol.asyncDispose]());

test('the pages have questions to the database', () => {
  expect(statements).toHaveLength(3);
});

test.each(statements)('the Data API answers: %s', async (statement) => {
  await expect(database.dataApi().execute(statement)).resolves.toBeUndefined();
});

test('the list of what came after A has what S3 dates in the second of A', () => {
  const [, a = ''] = /LastModified>='([^']+)'/.exec(readPage('docs/restore.md')) ?? [];
  // As the two versions of the AWS command-line tool print it.
  for (const second of ['2026-11-21T10:00:00+00:00', '2026-11-21T10:00:00.000Z']) expect(second >= a).toBe(true);
  expect('2026-11-21T09:59:59+00:00' >= a).toBe(false);
});
