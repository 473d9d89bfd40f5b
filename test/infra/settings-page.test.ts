import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { settingsPage } from '../../bin/docs/settings-page.ts';
import { operatorSettings } from '../../bin/operator-settings.ts';
import { checkSettings } from '../../lib/infra/check-settings.ts';
import { blocksOf, readPage } from '../helpers/pages.ts';

const page = readPage('docs/settings.md');

test('docs/settings.md has the fields of the schema and their defaults: npm run docs', () => {
  expect(settingsPage(page)).toBe(page);
  expect(page).toContain('| `outboxExpiryDays` | 1–365 | `30` |');
  expect(page).toContain("| `directAccess` | 'on' or 'off' | `'on'` |");
});

test('a setting that no table has, and a table of an unknown one, are named', () => {
  expect(() => settingsPage('')).toThrow(/^the page lacks stage, purpose, /);
  expect(() => settingsPage('<!-- settings: wish -->\n<!-- end -->')).toThrow('there is no setting wish');
});

test('the example of the page can work', async () => {
  const root = mkdtempSync(join(tmpdir(), 'data-out-example-'));
  try {
    mkdirSync(join(root, 'private'));
    const [example] = blocksOf('docs/settings.md').filter(({ language }) => language === 'ts');
    writeFileSync(join(root, 'private/settings.ts'), example?.text ?? '');
    const { settings } = await operatorSettings(root);
    expect(settings).toMatchObject({ stage: 'prod', outboxExpiryDays: 30 });
    checkSettings(settings);
  } finally {
    rmSync(root, { recursive: true });
  }
});
