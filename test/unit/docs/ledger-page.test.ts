import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ledgerPage, ledgerPagePath } from '../../infra/ledger-page.ts';

test('docs/ledger.md has the pictures of the tables of transitions; npm run docs draws them', () => {
  const page = readFileSync(ledgerPagePath, 'utf8');
  expect(page.match(/```mermaid\nstateDiagram-v2/g)).toHaveLength(2);
  expect(page).toBe(ledgerPage(page));
});
