import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commandLinePage, commandLinePagePath } from '../../../bin/docs/command-line-page.ts';
import { reasonsPage, reasonsPagePath } from '../../../bin/docs/reasons-page.ts';
import { exitCodes } from '../../../lib/terminal/exit-codes.ts';

test('docs/command-line.md has the settings, exit codes and commands of the programs; npm run docs writes them', async () => {
  const page = readFileSync(commandLinePagePath, 'utf8');
  expect(page.match(/<!-- (settings|exit codes|commands) of /g)).toHaveLength(4);
  expect(page).toBe(await commandLinePage(page));
});

test('the list of exit codes has each code, once', async () => {
  const page = await commandLinePage('<!-- exit codes of both -->\n<!-- end -->');
  expect([...page.matchAll(/^ {4} *(\d+) /gm)].map(([, code]) => Number(code))).toEqual(Object.values(exitCodes));
});

test('docs/administrators.md has every reason of an export, with what to do; npm run docs writes them', () => {
  const page = readFileSync(reasonsPagePath, 'utf8');
  expect(page.match(/<!-- reasons -->/g)).toHaveLength(1);
  expect(page).toBe(reasonsPage(page));
});
