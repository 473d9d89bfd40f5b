import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestDatabase } from '../../helpers/data-api.ts';
import { readPage } from '../../helpers/pages.ts';

/** Questions to the database that people copy from the runbook. The Data API returns no columns of PostgreSQL's type `name`. */
const statements = [...readPage('docs/runbook.md').matchAll(/(?:`|--sql ")((?:select|show)\s[^`"]+)[`"]/g)].map(
  ([, statement = '']) => statement.replaceAll(/\s+/g, ' ').replace("'ID'", "'00000000-0000-4000-8000-000000000001'"),
);

let database: TestDatabase;
beforeAll(async () => {
  database = await TestDatabase.shared();
});
afterAll(() => database[Symbol.asyncDispose]());

test('the runbook has questions to the database', () => {
  expect(statements).toHaveLength(8);
});

test.each(statements)('the Data API answers: %s', async (statement) => {
  await expect(database.dataApi().execute(statement)).resolves.toBeUndefined();
});
