import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { apiPage, apiPagePath } from '../../../bin/docs/api-page.ts';

test('docs/api.md has the tables that the OpenAPI documents give; npm run docs writes them', () => {
  const page = readFileSync(apiPagePath, 'utf8');
  expect(page.match(/<!-- openapi: /g)).toHaveLength(5);
  expect(page).toBe(apiPage(page));
});
