import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { OtherSite, type Tab, World } from './world.ts';

let world: World;
let site: OtherSite;
const order = JSON.stringify({
  id: 'EGAD00000000001',
  visaToken: 'x',
  userPublicKey: formatPublicKey(generateKeyPair().publicKey),
});

beforeAll(async () => {
  world = await World.shared();
  site = await OtherSite.start('<!doctype html><title>Another site</title>');
});
afterEach(() => world.closeTabs());
afterAll(() => site.stop());

/** Runs a script in a page, whose requests the browser sends with the password that it knows. */
const attack = (tab: Tab, script: string) => tab.page.evaluate(script);

test.each(['localhost', '127.0.0.1'] as const)('a page of %s cannot show the page in a frame', async (host) => {
  const framing = await OtherSite.start(`<!doctype html><iframe src="${world.url}"></iframe>`);
  const tab = await world.signIn();
  await tab.page.goto(framing.url(host));
  await expect
    .poll(() => tab.page.frames().map((frame) => frame.url()))
    .toEqual([framing.url(host), 'chrome-error://chromewebdata/']);
  framing.stop();
});

test('a page of another site that opens the page in a window keeps no hold of it', async () => {
  const opening = await OtherSite.start('<!doctype html><button>Open</button>');
  const tab = await world.signIn();
  await tab.page.goto(opening.url());
  await attack(
    tab,
    `document.querySelector('button').onclick = () => { window.held = window.open(${JSON.stringify(world.url)}); }`,
  );
  const [opened] = await Promise.all([tab.context.waitForEvent('page'), tab.page.getByRole('button').click()]);
  await opened.getByText(/^as of /).waitFor();
  expect(await attack(tab, 'window.held.closed')).toBe(true);
  expect(await opened.evaluate('window.opener')).toBe(null);
  opening.stop();
});

test('a page of another site cannot export with the password that the browser knows', async () => {
  const tab = await world.signIn();
  // The browser keeps the replies from the page, so the access log says what they were.
  const statuses = () =>
    world.service.logs
      .filter(({ functionName }) => functionName === 'proxy-access')
      .map(({ line }) => JSON.parse(line))
      .filter(({ method }) => method === 'POST')
      .map(({ status }) => Number(status));
  const seen: number[] = [];
  const url = JSON.stringify(world.service.url('export/fega'));
  const body = JSON.stringify(order);
  world.service.engine.traffic.resetCounters();
  for (const host of ['localhost', '127.0.0.1'] as const) {
    const before = statuses().length;
    await tab.page.goto(site.url(host));
    // A Blob without a type goes out without a media type, and without a preflight.
    await attack(
      tab,
      `fetch(${url}, { method: 'POST', mode: 'no-cors', credentials: 'include', body: new Blob([${body}]) }).catch(() => 'no reply')`,
    );
    await attack(tab, `navigator.sendBeacon(${url}, new Blob([${body}]))`);
    await expect.poll(() => statuses().length).toBe(before + 2);
    seen.push(...statuses().slice(before));
    await attack(
      tab,
      `{
        const form = document.createElement('form');
        form.method = 'post';
        form.enctype = 'text/plain';
        form.action = ${url};
        const field = document.createElement('input');
        field.name = ${JSON.stringify(order.slice(0, -1))};
        field.value = '}';
        form.append(field);
        document.body.append(form);
        form.submit();
      }`,
    );
    await tab.page.waitForURL(world.service.url('export/fega'));
    expect(await tab.page.textContent('body')).toContain('"code":"foreign_origin"');
    await expect.poll(() => statuses().length).toBe(before + 3);
  }
  // A 401 is a request without the password: Chromium keeps passwords apart for each site of a tab. Ports of one machine are
  // one site, and there the password was sent, as it was with the forms.
  expect(seen).toEqual([401, 401, 403, 403]);
  expect(world.service.calls('export sqs SendMessage')).toBe(0);
});
