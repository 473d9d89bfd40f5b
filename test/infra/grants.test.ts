import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { grantsTable, unmarked } from '../grants/table.ts';
import { allGrants } from '../helpers/function-roles.ts';

test('the table of test/grants/grants.tsv is what the templates allow (npm run grants -- --write)', () => {
  const { grants, deployment } = allGrants();
  expect(grants.length).toBeGreaterThan(200);
  const table = readFileSync(join(import.meta.dirname, '../grants/grants.tsv'), 'utf8');
  // Who uses a grant is known after a run only.
  expect(unmarked(table)).toBe(unmarked(grantsTable(grants, deployment)));
}, 120_000);
