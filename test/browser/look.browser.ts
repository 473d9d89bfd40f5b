import { readFileSync } from 'node:fs';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { exportRows, requestIdOf } from '../helpers/export-rows.ts';
import { type Tab, World } from './world.ts';

const axe = readFileSync(new URL('../../.ci/browser/node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
let world: World;

beforeAll(async () => {
  world = await World.shared();
  const settled = { settledAt: '2026-11-21 10:09:00Z', receipt: 'EGAD1-receipt.delivery.jws' };
  for (const rows of [
    exportRows(
      { requestId: requestIdOf(1), state: 'incomplete', ...settled, staged: 1, stagedBytes: 10 },
      { staged: 1, given_up: 1 },
    ),
    exportRows({ requestId: requestIdOf(2), state: 'rejected', reason: 'not_entitled', settledAt: settled.settledAt }),
    exportRows({ requestId: requestIdOf(3), state: 'complete', ...settled, staged: 1, stagedBytes: 10 }, { staged: 1 }),
    exportRows({ requestId: requestIdOf(4) }, { staged: 1, sent: 2 }),
  ]) {
    for (const statement of rows) await world.service.sql(statement);
  }
});
afterEach(() => world.closeTabs());

/** The page with a row and a doubtful order open. */
async function everythingOpen(options: Parameters<World['signIn']>[0]): Promise<Tab> {
  const tab = await world.signIn(options);
  await tab.rows.filter({ hasText: 'incomplete' }).getByRole('button').click();
  await tab.page.getByText('EGAF00000000002').waitFor();
  await tab.field('Identifier').fill('EGAD1');
  await tab.field('Visa').fill(await world.service.visa({ datasetId: 'EGAD2' }));
  await tab.field('Public key').fill(formatPublicKey(generateKeyPair().publicKey));
  await tab.press('Check');
  await tab.form.getByText('EGAD2').first().waitFor();
  return tab;
}

describe.each(['light', 'dark'] as const)('in the %s scheme', (colorScheme) => {
  test.each([1200, 320])('axe finds nothing wrong at %i px, contrast included', async (width) => {
    const tab = await everythingOpen({ colorScheme, viewport: { width, height: 800 } });
    await tab.page.evaluate(axe);
    const { violations, passes } = await tab.page.evaluate<{
      violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
      passes: { id: string }[];
    }>('axe.run(document, { resultTypes: ["violations"] })');
    expect(
      violations.map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`)]),
    ).toEqual([]);
    expect(passes.map(({ id }) => id)).toContain('color-contrast');
  });
});

test('a page of 320 px does not scroll sideways', async () => {
  const tab = await everythingOpen({ viewport: { width: 320, height: 640 } });
  expect(await tab.page.evaluate('document.documentElement.scrollWidth')).toBe(320);
});

test.each([1030, 1100, 1280])('at %i px the table of exports stays in its column', async (width) => {
  const { page } = await everythingOpen({ viewport: { width, height: 800 } });
  const right = (selector: string) =>
    page.evaluate<number>(`document.querySelector('${selector}').getBoundingClientRect().right`);
  expect(await right('#exports table')).toBeLessThanOrEqual(await right('#exports'));
});

test('a page of 320 px leads to the form without scrolling past the exports', async () => {
  const tab = await world.signIn({ viewport: { width: 320, height: 640 } });
  const top = () => tab.page.evaluate<number>("document.getElementById('order-heading').getBoundingClientRect().top");
  expect(await top()).toBeGreaterThan(640);
  await tab.page.getByRole('link', { name: 'New export' }).click();
  await expect.poll(top).toBeLessThan(640);
  expect(await tab.page.evaluate('document.activeElement.id')).toBe('order-heading');
});

test('an export is checked, sent and followed by the keyboard alone, and the focus is always seen', async () => {
  const { service } = world;
  await service.archive('EGAD00000000009', 'study/a.bam', 1000);
  await service.setDataset('EGAD00000000009', 'released');
  const visa = await service.visa({ datasetId: 'EGAD00000000009' });
  const tab = await world.signIn();
  const { keyboard } = tab.page;
  /** Presses Tab until this has the focus. */
  const tabTo = async (name: RegExp) => {
    for (let presses = 0; presses < 40; presses += 1) {
      await keyboard.press('Tab');
      const focused = await tab.page.evaluate<{ tag: string; name: string; outline: string; width: number }>(`{
        const at = document.activeElement;
        const { outlineStyle: outline, outlineWidth } = getComputedStyle(at);
        ({ tag: at.tagName, name: at.labels?.[0]?.textContent ?? at.textContent, outline, width: parseFloat(outlineWidth) });
      }`);
      // After the last element the browser's own bar has the focus.
      if (focused.tag !== 'BODY') expect(focused).toMatchObject({ outline: 'solid', width: 3 });
      if (name.test(focused.name)) return;
    }
    throw new Error(`Tab does not lead to ${name}`);
  };
  await tabTo(/^Identifier$/);
  await keyboard.type('EGAD00000000009');
  await tabTo(/^Visa$/);
  await keyboard.insertText(visa);
  await tabTo(/^Public key$/);
  await keyboard.insertText(formatPublicKey(generateKeyPair().publicKey));
  await tabTo(/^Check$/);
  await keyboard.press('Enter');
  await tabTo(/^Send$/);
  await keyboard.press('Space');
  await expect.poll(() => tab.page.evaluate('document.activeElement.labels?.[0]?.textContent')).toBe('Identifier');
  await tab.rows.filter({ hasText: 'EGAD00000000009' }).waitFor({ timeout: 30_000 });
  await tabTo(/^EGAD00000000009$/);
  await keyboard.press('Enter');
  await tab.page
    .getByRole('region', { name: 'Export of EGAD00000000009' })
    .getByText('Every file is in the outbox.')
    .waitFor();
  // The table was refreshed meanwhile.
  expect(await tab.page.evaluate('document.activeElement.textContent')).toBe('EGAD00000000009');
});
