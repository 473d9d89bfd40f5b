import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { exportRows, requestIdOf } from '../helpers/export-rows.ts';
import { rawRequest } from '../helpers/raw-http.ts';
import { basic } from '../helpers/service.ts';
import { type Tab, World } from './world.ts';

let world: World;
const settled = { settledAt: '2026-11-21 10:09:00Z', receipt: `EGAD1-${requestIdOf(1)}.delivery.jws` };
const incomplete = { requestId: requestIdOf(1), state: 'incomplete', ...settled, staged: 1, stagedBytes: 10 };
const staging = { requestId: requestIdOf(2), requestedAt: '2026-11-22 10:00:00Z' };

beforeAll(async () => {
  world = await World.shared();
});
afterEach(async () => {
  await world.closeTabs();
  await world.service.sql('truncate data_out.requests, data_out.request_files');
});

async function add(...row: Parameters<typeof exportRows>): Promise<void> {
  for (const statement of exportRows(...row)) await world.service.sql(statement);
}

/** Exports with the ids `EGAD00000000001` and on. */
async function addComplete(count: number): Promise<void> {
  await world.service.sql(
    exportRows({ requestId: requestIdOf(0), state: 'complete', ...settled })[0]
      ?.replace(/values \(/, 'select ')
      .replace(`'${requestIdOf(0)}'`, `cast('00000000-0000-4000-8000-' || lpad(cast(n as text), 12, '0') as uuid)`)
      .replace(`'EGAD1'`, `'EGAD' || lpad(cast(n as text), 11, '0')`)
      .replace(/\)$/, ` from generate_series(1, ${count}) as n`) ?? '',
  );
}

const texts = (tab: Tab) => tab.rows.allInnerTexts();

describe('the table', () => {
  test('has state, dataset, files and bytes; the newest export is first', async () => {
    await add(incomplete, { staged: 1, given_up: 1 });
    await add(staging, { staged: 1, sent: 2 });
    const tab = await world.signIn();
    await expect
      .poll(() => texts(tab))
      .toEqual([
        expect.stringMatching(/^EGAD1\s+staging\s+1 of 3\s+10 B\s+\d+ \w+\s+aa$/),
        expect.stringMatching(/^EGAD1\s+incomplete\s+1 of 2\s+10 B\s+\d+ \w+\s+aa$/),
      ]);
  });

  test('shows the exports of one state', async () => {
    await add({ requestId: requestIdOf(1), state: 'rejected', reason: 'not_entitled', settledAt: settled.settledAt });
    await add(staging, { staged: 1, sent: 2 });
    const tab = await world.signIn();
    await expect.poll(() => tab.rows.count()).toBe(2);
    await tab.page.getByLabel('State').selectOption('rejected');
    await expect.poll(() => texts(tab)).toEqual([expect.stringContaining('rejected')]);
    await tab.page.getByLabel('State').selectOption('withdrawn');
    await expect.poll(() => texts(tab)).toEqual([]);
    await tab.page.getByText('No export here is withdrawn.').waitFor();
  });

  test('a row opens into its files, with their reasons, and the receipt', async () => {
    await add(incomplete, { staged: 1, given_up: 1 });
    const tab = await world.signIn();
    await tab.button('EGAD1').click();
    const details = tab.page.getByRole('region', { name: 'Export of EGAD1' });
    const files = details.getByRole('table', { name: 'Files of EGAD1' }).getByRole('row');
    await expect
      .poll(() => files.allInnerTexts())
      .toEqual([
        expect.stringMatching(/^File\s+State\s+Reason\s+Size\s+Since$/),
        expect.stringMatching(/^EGAF00000000001\s+staged\s+10 B\s+2026-11-21 10:00:01 UTC$/),
        expect.stringMatching(/^EGAF00000000002\s+given_up\s+archive_damaged: .+\s+2026-11-21 10:00:01 UTC$/),
      ]);
    const facts = await details.innerText();
    expect(facts).toContain(`EGAD1-${requestIdOf(1)}.delivery.jws`);
    expect(facts).toContain('2026-11-21 10:09:00 UTC');
    await tab.button('EGAD1').click();
    await expect.poll(() => details.count()).toBe(0);
  });

  test('of 300 exports shows 100 at a time, and each once', async () => {
    await addComplete(300);
    const tab = await world.signIn();
    const seen: string[] = [];
    for (let page = 1; page <= 3; page += 1) {
      await tab.page.getByText(`Page ${page}`, { exact: true }).waitFor();
      expect(await tab.rows.count()).toBe(100);
      seen.push(...(await texts(tab)).map((text) => /^EGAD\d+/.exec(text)?.[0] ?? ''));
      await tab.page.getByRole('button', { name: 'Older' }).click();
    }
    expect(new Set(seen).size).toBe(300);
    await tab.page.getByText('There are no exports here.').waitFor();
    expect(await tab.page.getByRole('button', { name: 'Older' }).isDisabled()).toBe(true);
    await tab.page.getByRole('button', { name: 'Newer' }).click();
    await expect.poll(() => texts(tab)).toEqual(expect.arrayContaining([expect.stringContaining(seen.at(-1) ?? '?')]));
  });

  test('is refreshed while an export is under way, and keeps focus, selection and what is open', async () => {
    await add(staging, { staged: 1, sent: 2 });
    await add(incomplete, { staged: 1, given_up: 1 });
    const tab = await world.signIn();
    await tab.button('EGAD1').nth(1).click();
    await tab.page.getByRole('region', { name: 'Export of EGAD1' }).getByText('archive_damaged: ').waitFor();
    await tab.button('EGAD1').first().focus();
    await tab.page.evaluate(
      `getSelection().selectAllChildren([...document.querySelectorAll('th')].find(({ textContent }) => textContent === 'EGAF00000000002'))`,
    );
    await world.service.sql(`update data_out.request_files set state = 'staged', bytes = 10 where state = 'sent'`);
    const rejected = { state: 'rejected', reason: 'x', settledAt: settled.settledAt };
    await add({ requestId: requestIdOf(3), requestedAt: '2026-11-22 11:00:00Z', ...rejected });
    await expect
      .poll(() => texts(tab))
      .toEqual(expect.arrayContaining([expect.stringContaining('3 of 3'), expect.stringContaining('rejected')]));
    expect(await tab.page.evaluate('document.activeElement.textContent')).toBe('EGAD1');
    expect(await tab.page.evaluate('String(getSelection())')).toBe('EGAF00000000002');
    expect(await tab.page.getByRole('region', { name: 'Export of EGAD1' }).count()).toBe(1);
  });
});

describe('a search', () => {
  const find = (tab: Tab, words: string) => tab.page.getByLabel('Find').fill(words);

  test('filters while the reader types, and finds ids and recipients on older pages, and Older looks further', async () => {
    await addComplete(1250);
    await add({ requestId: requestIdOf(9001), requestedAt: '2026-11-20 10:00:00Z', recipient: 'be5f2b61904a53d6' });
    const tab = await world.signIn();
    await find(tab, ' egad0000000123 ');
    // Ten calls one after the other, each with the check of a password.
    await expect.poll(() => tab.rows.count(), { timeout: 100_000 }).toBe(10);
    expect((await texts(tab)).every((text) => text.startsWith('EGAD0000000123'))).toBe(true);
    await find(tab, 'BE5F2B');
    await tab.page.getByText('Nothing here matches BE5F2B. Older looks further back.').waitFor({ timeout: 100_000 });
    await tab.page.getByRole('button', { name: 'Older' }).click();
    await expect.poll(() => texts(tab)).toEqual([expect.stringContaining('be5f2b61904a')]);
    expect(await tab.page.getByRole('button', { name: 'Older' }).isDisabled()).toBe(true);
    await find(tab, '');
    await expect.poll(() => tab.rows.count()).toBe(100);
  }, 300_000);
});

test('an answer that comes late does not replace a newer one', async () => {
  await add(staging, { staged: 1, sent: 2 });
  const { connection } = world.service;
  const headers = { Authorization: basic(connection.admin) };
  const path = `export/fega/${staging.requestId}`;
  const { text: older } = await rawRequest(connection.proxyUrl, path, { headers });
  const tab = await world.signIn();
  const late = Promise.withResolvers<void>();
  let asked = 0;
  await tab.page.route(`**/${path}`, async (route) => {
    asked += 1;
    if (asked > 1) return await route.continue();
    await late.promise;
    await route.fulfill({ contentType: 'application/json', body: older });
  });
  await tab.button('EGAD1').click();
  await world.service.sql(`update data_out.request_files set state = 'staged', bytes = 10 where state = 'sent'`);
  await world.service.sql(
    `update data_out.requests set state = 'complete', settled_at = '2026-11-22 10:09:00Z', settled_revision = 1,
       receipt = '${settled.receipt}', staged = 3, staged_bytes = 30`,
  );
  const details = tab.page.getByRole('region', { name: 'Export of EGAD1' });
  await details.getByText('Every file is in the outbox.').waitFor();
  const came = tab.page.waitForResponse(`**/${path}`);
  late.resolve();
  await (await came).finished();
  await tab.page.evaluate('new Promise(requestAnimationFrame)');
  expect(await details.innerText()).toContain('Every file is in the outbox.');
});

describe('while the page is open', () => {
  test('the network fails: the page says so, keeps what it shows, and recovers automatically', async () => {
    await add(staging, { staged: 1, sent: 2 });
    const tab = await world.signIn();
    await tab.context.setOffline(true);
    await tab.alert('The service did not answer.').waitFor({ timeout: 20_000 });
    expect(await texts(tab)).toHaveLength(1);
    await tab.context.setOffline(false);
    await tab.page.getByRole('alert').waitFor({ state: 'detached', timeout: 40_000 });
  });

  test('the service is down: the page says when it tries again, and recovers automatically', async () => {
    await add(staging, { staged: 1, sent: 2 });
    const tab = await world.signIn();
    const heal = world.service.engine.traffic.addFault(({ caller, service }) =>
      caller === 'export-status' && service === 'rds-data'
        ? { error: { status: 400, code: 'DatabaseResumingException' } }
        : undefined,
    );
    await tab.alert(/The service cannot answer at the moment.*Try again in 15 seconds/s).waitFor({ timeout: 30_000 });
    heal();
    await tab.page.getByRole('alert').waitFor({ state: 'detached', timeout: 40_000 });
  });
});
