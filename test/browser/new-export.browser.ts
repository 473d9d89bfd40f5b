import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { type Tab, World } from './world.ts';

const dataset = 'EGAD00000000001';
const { publicKey } = generateKeyPair();
const key = formatPublicKey(publicKey);
let world: World;
let tab: Tab;
let visa: string;

beforeAll(async () => {
  world = await World.shared();
  for (const name of ['a.bam', 'b.bam']) await world.service.archive(dataset, `study/${name}`, 1000);
  await world.service.setDataset(dataset, 'released');
  visa = await world.service.visa({ datasetId: dataset });
});
beforeEach(async () => {
  tab = await world.signIn();
  world.service.engine.traffic.resetCounters();
});
afterEach(async () => {
  expect(tab.traces).toMatchObject({ dialogs: [], errors: [] });
  await world.closeTabs();
});

const published = () => world.service.calls('export sqs SendMessage');
const file = (name: string, content: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(content) });
const summary = () => tab.page.getByRole('region', { name: 'What will be sent' });

async function fill(order: { id?: string; visa?: string; key?: string }): Promise<void> {
  await tab.field('Identifier').fill(order.id ?? dataset);
  await tab.field('Visa').fill(order.visa ?? visa);
  await tab.field('Public key').fill(order.key ?? key);
}

const background = (id: string) =>
  tab.page.evaluate<string>(`getComputedStyle(document.getElementById('${id}')).backgroundColor`);

/** The id that the page shows of the request that was just sent. */
async function sent(): Promise<string> {
  const id = /[0-9a-f]{8}-[0-9a-f-]{27}/;
  return id.exec(await tab.page.getByRole('status').filter({ hasText: id }).innerText())?.[0] ?? '';
}

describe('an order', () => {
  test('is checked, sent, and seen to complete without a reload', async () => {
    await tab.page.evaluate('window.sinceLoaded = true');
    const heal = world.service.engine.traffic.addFault(({ caller, action }) =>
      caller.startsWith('stage-') && action === 'PutObject' ? { delayMs: 3000 } : undefined,
    );
    await fill({});
    await tab.press('Check');
    const shown = await summary().innerText();
    const fingerprint = createHash('sha256').update(publicKey).digest('hex');
    for (const fact of [dataset, 'researcher', world.service.connection.issuer.iss, 'in 59 minutes', fingerprint]) {
      expect(shown).toContain(fact);
    }
    expect(shown).toContain('It is not verified.');
    expect(published()).toBe(0);
    expect(await background('check')).toBe('rgb(11, 87, 164)');
    expect(await background('send')).toBe('rgb(11, 87, 164)');
    await tab.press('Send');
    const id = await sent();
    await expect.poll(() => tab.rows.first().innerText()).toMatch(/accepted|staging/);
    await expect.poll(() => tab.rows.first().innerText(), { timeout: 60_000 }).toMatch(/complete\s+2 of 2/);
    heal();
    expect(await tab.page.evaluate('window.sinceLoaded')).toBe(true);
    expect((await world.service.audit(id)).map(({ event }) => event)).toEqual(['accepted', 'staged', 'staged']);
    expect(published()).toBe(1);
    for (const name of ['Identifier', 'Visa', 'Public key']) expect(await tab.field(name).inputValue()).toBe('');
  }, 120_000);

  test('takes visa and key from files', async () => {
    await tab.field('Identifier').fill(dataset);
    await tab.field('Visa file').setInputFiles(file('visa.jwt', `${visa}\n`));
    await tab.field('Public key file').setInputFiles(file('key.pub', key));
    await tab.press('Check');
    await tab.press('Send');
    const rows = await world.service.settled(await sent(), 2);
    expect(rows.map(({ event }) => event)).toContain('staged');
  });

  test('of text and file, takes the last input, and names it', async () => {
    await fill({});
    await tab.field('Visa file').setInputFiles(file('other.txt', 'not a visa'));
    await tab.press('Check');
    await tab.alert('Visa from the file other.txt: this is neither a GA4GH visa nor a passport').waitFor();
    await tab.field('Visa').fill(visa);
    await tab.field('Public key file').setInputFiles(file('jane.pub', key));
    await tab.press('Check');
    expect(await summary().innerText()).toMatch(/Visa\s+pasted text.+Public key\s+jane\.pub/s);
    expect(await tab.field('Visa file').inputValue()).toBe('');
  });

  test('that is rejected says why in words', async () => {
    await fill({ visa: await world.service.visa({ datasetId: 'EGAD00000000002' }) });
    await tab.press('Check');
    expect(await summary().innerText()).toMatch(/Warning: .*EGAD00000000001/);
    expect(await background('send')).toBe(await background('refresh'));
    await tab.press('Send');
    await sent();
    await expect.poll(() => tab.rows.first().innerText()).toContain('rejected');
    const status = tab.page.getByRole('status').filter({ hasText: 'is rejected' });
    expect(await status.innerText()).toMatch(/ not_entitled: .+ Check the id, and ask the recipient for the visa/);
    expect(await tab.field('Identifier').inputValue()).toBe(dataset);
    expect(await tab.field('Public key').inputValue()).toBe(key);
    expect(await tab.page.evaluate("getComputedStyle(document.getElementById('status')).borderLeftColor")).toBe(
      'rgb(164, 22, 26)',
    );
    await tab.rows.first().getByRole('button').click();
    const details = tab.page.getByRole('region', { name: `Export of ${dataset}` });
    await details.getByText('not_entitled: no visa of the request grants the dataset').waitFor();
    await details.getByText('Nothing was staged. Fix the cause, then export again.').waitFor();
  });

  test('is filled from the row of an earlier one, without its visa and key', async () => {
    await fill({ visa: await world.service.visa({ datasetId: 'EGAD00000000002' }) });
    await tab.press('Check');
    await tab.press('Send');
    await sent();
    await fill({ id: 'EGAF00000000001' });
    await tab.rows.first().getByRole('button').click();
    await tab.page
      .getByRole('region', { name: `Export of ${dataset}` })
      .getByRole('button', { name: 'Export again' })
      .click();
    expect(await tab.field('Identifier').inputValue()).toBe(dataset);
    expect(await tab.field('Type').inputValue()).toBe('datasetId');
    for (const name of ['Visa', 'Public key']) expect(await tab.field(name).inputValue()).toBe('');
    expect(await tab.page.evaluate('document.activeElement.id')).toBe('visa');
    await tab.page.getByText(`Paste the visa and the public key for another export of ${dataset}.`).waitFor();
  });

  test('with a visa that expired just now is doubtful, with an older one it is refused', async () => {
    const now = Math.floor(Date.now() / 1000);
    await fill({ visa: await world.service.visa({ datasetId: dataset, claims: { iat: now - 7200, exp: now - 60 } }) });
    await tab.press('Check');
    await summary().getByText('Warning:').waitFor();
    expect(await summary().innerText()).toMatch(/Warning: .*expired/);
    await tab.field('Visa').fill(await world.service.visa({ datasetId: dataset, claims: { exp: now - 7200 } }));
    await tab.press('Check');
    await tab.alert(/Visa: it expired at .*Ask the researcher for a new one/).waitFor();
    expect(await summary().count()).toBe(0);
    expect(published()).toBe(0);
  });

  test('is not sent after a change that was not checked', async () => {
    await fill({});
    await tab.press('Check');
    await summary().waitFor();
    await tab.field('Identifier').fill('EGAD00000000003');
    await expect.poll(() => summary().count()).toBe(0);
  });
});

describe('a private key', () => {
  const privateKeys = ['alice.sec', 'ssh_plain'].map((name) => [
    name,
    readFileSync(`test/vectors/keys/${name}`, 'utf8'),
  ]);

  test.each(privateKeys)('%s, pasted or chosen, is refused and gone', async (name = '', privateKey = '') => {
    for (const place of ['Public key', 'Visa'] as const) {
      await tab.field(place).fill(privateKey);
      await tab.alert('This is a private key. It was removed from this page, and it was not sent.').waitFor();
      expect(await tab.field(place).inputValue()).toBe('');
      await tab.field('Public key').fill(key);
      await tab.field(`${place} file`).setInputFiles(file(name, privateKey));
      await tab.alert('This is a private key.').waitFor();
      expect(await tab.field(place).inputValue()).toBe('');
      expect(
        await tab.page.evaluate("[...document.querySelectorAll('input[type=file]')].map(({ files }) => files.length)"),
      ).toEqual([0, 0]);
    }
    const [, secret = ''] = privateKey.split('\n');
    expect(await tab.page.content()).not.toContain(secret);
    expect(
      await tab.page.evaluate("[...document.querySelectorAll('input, textarea')].map(({ value }) => value).join()"),
    ).not.toContain(secret);
    expect(published()).toBe(0);
  });
});

test('nothing of an order is kept in the browser, and no other host is called', async () => {
  await fill({});
  await tab.press('Check');
  await tab.press('Send');
  await sent();
  expect(await tab.context.storageState({ indexedDB: true })).toEqual({ cookies: [], origins: [] });
  const kept = await tab.page.evaluate(
    '({ local: localStorage.length, session: sessionStorage.length, cookie: document.cookie, history: history.length, state: history.state, url: location.href })',
  );
  // Two: the empty tab and the page.
  expect(kept).toEqual({ local: 0, session: 0, cookie: '', history: 2, state: null, url: world.url });
  const { origin } = new URL(world.url);
  expect(tab.traces.requests.filter((url) => new URL(url).origin !== origin)).toEqual([]);
  await tab.page.reload();
  for (const name of ['Identifier', 'Visa', 'Public key']) expect(await tab.field(name).inputValue()).toBe('');
});
