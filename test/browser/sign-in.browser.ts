import { GetSecretValueCommand, PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { World } from './world.ts';

let world: World;

beforeAll(async () => {
  world = await World.shared();
});
afterEach(() => world.closeTabs());

test('the page is not shown to a user who has not signed in: the browser asks for a password', async () => {
  const tab = await world.open();
  const answers: [number, string | undefined][] = [];
  tab.page.on('response', (reply) => answers.push([reply.status(), reply.headers()['www-authenticate']]));
  // Without a screen the browser cannot ask, and gives up.
  await expect(tab.page.goto(world.url)).rejects.toThrow('ERR_INVALID_AUTH_CREDENTIALS');
  expect(answers).toEqual([[401, 'Basic realm="data-out", charset="UTF-8"']]);
  expect(await tab.page.locator('table, form, script').count()).toBe(0);
});

test('an administrator sees the page', async () => {
  const { page, table, traces } = await world.signIn();
  expect(await page.title()).toContain('data-out');
  await table.waitFor();
  expect(traces.errors).toEqual([]);
});

test('a user name and a password in the address sign in, too', async () => {
  const { username, password } = world.service.connection.admin;
  const tab = await world.open();
  await tab.page.goto(world.url.replace('//', `//${username}:${password}@`));
  await tab.page.getByText('There are no exports here.').waitFor();
  expect(await tab.page.getByRole('alert').count()).toBe(0);
});

test('a password that is no longer good: the page says so, and asks to sign in again', async () => {
  const { secretsManager, engine, connection } = world.service;
  const SecretId = connection.outputs.AdminSecretArn;
  const { SecretString } = await secretsManager.send(new GetSecretValueCommand({ SecretId }));
  const { users } = JSON.parse(SecretString ?? '') as { users: { username: string }[] };
  const tab = await world.signIn();
  const others = users.filter(({ username }) => username !== connection.admin.username);
  await secretsManager.send(new PutSecretValueCommand({ SecretId, SecretString: JSON.stringify({ users: others }) }));
  try {
    await engine.functions.recycle();
    await tab.page.getByRole('button', { name: 'Refresh' }).click();
    await tab.alert('The service refused your user name or password.').waitFor();
    await tab.alert('Reload the page, and sign in').waitFor();
  } finally {
    await secretsManager.send(new PutSecretValueCommand({ SecretId, SecretString }));
    await engine.functions.recycle();
  }
});
