import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { apiPage, apiPagePath } from '../../../bin/api-page.ts';

const empty = (table: string) => `before\n<!-- openapi: ${table} -->\n<!-- end -->\nafter\n`;

test('docs/api.md has the tables that the OpenAPI documents give; npm run docs writes them', () => {
  const page = readFileSync(apiPagePath, 'utf8');
  expect(page.match(/<!-- openapi: /g)).toHaveLength(13);
  expect(page).toBe(apiPage(page));
});

test.each([
  ['proxy fields ExportRequest', "| `visaToken` | string, 1–16,384 characters | The recipient's visa or passport. |"],
  ['data-out fields DatasetFile', '| `unencryptedChecksumType` | `MD5`, `null` | Of `unencryptedChecksum`. |'],
  ['proxy parameters GET /files', '| `page` | query | integer | Zero-based; below 0 is read as 0. Default: `0`. |'],
  [
    'data-out parameters GET /files/{fileId}',
    '| `If-Match`, `If-None-Match` | header | string | Compared with the `ETag`. |',
  ],
  ['data-out replies GET /files/{fileId}', '| 304 | `If-None-Match` names what would be sent. |'],
])('a table of %s', (table, row) => {
  const lines = apiPage(empty(table)).split('\n');
  expect(lines).toContain(row);
  expect([lines[0], ...lines.slice(-3)]).toEqual(['before', '<!-- end -->', 'after', '']);
});

test('parameters of the path and replies of every route are left out', () => {
  expect(apiPage(empty('data-out parameters GET /files/{fileId}'))).not.toContain('path');
  expect(apiPage(empty('data-out replies GET /files/{fileId}'))).not.toContain('| 503 |');
});

test.each([
  ['proxy fields Nothing', 'Nothing'],
  ['proxy parameters GET /nothing', 'GET /nothing'],
  ['proxy parameters POST /files', 'POST /files'],
  ['proxy colours GET /files', 'colours'],
])('a table of %s is refused', (table, named) => {
  expect(() => apiPage(empty(table))).toThrow(`docs/api.md has a table of ${named}, which the OpenAPI document lacks`);
});
