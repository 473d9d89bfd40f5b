import { afterEach, beforeAll, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { exportRows, requestIdOf } from '../helpers/export-rows.ts';
import { type Tab, World } from './world.ts';

/** Texts that others choose: ids and reasons in the catalogue, claims of a visa, names of files. */
const texts = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(2)</script>',
  '<svg/onload=alert(3)>',
  '<a href="javascript:alert(4)">click</a>',
  '<style>*{display:none}</style>',
  '{{7*7}}',
] as const;
const [markup] = texts;
let world: World;

beforeAll(async () => {
  world = await World.shared();
});
afterEach(() => world.closeTabs());

/** Nothing of the text became part of the page, and no script but the page's own has run. */
async function expectHarmless({ page, traces }: Tab): Promise<void> {
  expect(await page.locator('img, svg[onload], a[href^="javascript"], body style, iframe, object').count()).toBe(0);
  expect(await page.locator('script').count()).toBe(1);
  expect(traces).toMatchObject({ dialogs: [], errors: [] });
}

test.each(texts)('as an id, a file and a reason: %s', async (text) => {
  await world.service.sql('truncate data_out.requests, data_out.request_files');
  const settled = { settledAt: '2026-11-21 10:09:00Z', receipt: 'EGAD1-receipt.delivery.jws' };
  for (const statement of exportRows({ requestId: requestIdOf(1), state: 'incomplete', ...settled }, { given_up: 1 })) {
    await world.service.sql(statement);
  }
  const quoted = `'${text.replaceAll("'", "''")}'`;
  await world.service.sql(`update data_out.requests set dataset_id = ${quoted}, reason = ${quoted}`);
  await world.service.sql(`update data_out.request_files set file_id = ${quoted}, reason = ${quoted}`);
  const tab = await world.signIn();
  await tab.button(text).click();
  await expect.poll(() => tab.page.getByText(text).count()).toBeGreaterThan(4);
  await expectHarmless(tab);
});

test.each(texts)('in a visa, the names of files and the identifier: %s', async (text) => {
  const tab = await world.signIn();
  const visa = await world.service.visa({ subject: text, datasetId: text });
  const file = (content: string) => ({ name: text, mimeType: 'text/plain', buffer: Buffer.from(content) });
  await tab.field('Identifier').fill(text);
  await tab.field('Visa file').setInputFiles(file('x'.repeat(300_001)));
  await tab.alert(`${text} is too large`).waitFor();
  await tab.field('Visa file').setInputFiles(file(visa));
  await tab.field('Public key file').setInputFiles(file(formatPublicKey(generateKeyPair().publicKey)));
  await tab.press('Check');
  await expect.poll(() => tab.page.getByRole('region', { name: 'What will be sent' }).getByText(text).count()).toBe(5);
  await expectHarmless(tab);
});

test('in a problem that the service answers with', async () => {
  const tab = await world.signIn();
  const problem = { type: 'about:blank', title: markup, status: 400, detail: markup, code: markup, requestId: markup };
  await tab.page.route('**/export/**', (route) =>
    route.fulfill({ status: 400, contentType: 'application/problem+json', body: JSON.stringify(problem) }),
  );
  await tab.page.reload();
  await tab.alert(markup).waitFor();
  await expectHarmless(tab);
});
