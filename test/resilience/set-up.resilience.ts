import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runClient } from '../helpers/client-process.ts';
import { ClientWorld } from '../helpers/client-world.ts';
import { startOf } from '../helpers/installed-program.ts';
import { Service } from '../helpers/service.ts';
import { onTerminal } from '../helpers/terminal-process.ts';

/** `data-out setup` on a real terminal, as it is installed, against the whole service. */
let world: ClientWorld;
const user = { username: 'jané 😀', password: 'pass wörd 🔑' };

beforeAll(async () => {
  world = await ClientWorld.of(await Service.shared());
  await world.service.addArchiveUser(user.username, user.password);
}, 120_000);
afterAll(() => world?.stop());

/** A person's empty home with a visa in it. */
async function home(name: string): Promise<string> {
  const folder = await world.folder(name);
  await writeFile(join(folder, 'visa.jwt'), `${world.visa}\n`, { mode: 0o600 });
  return folder;
}

const dataOut = (argv: readonly string[], folder: string, dialogue: Parameters<typeof onTerminal>[1] = []) =>
  onTerminal([...startOf(world.script).command, ...argv], dialogue, { folder, env: { HOME: folder } });

const enter = '\r';
const service = () => `${world.service.connection.proxyUrl}${enter}`;

describe('data-out setup', () => {
  test('leads a person from nothing to a listing, with a name and a password of any letters', async () => {
    const folder = await home('en mappe 😀');
    const { exitCode, shown } = await dataOut(['setup'], folder, [
      ['Address of the service: ', service()],
      ['File with your visa: ', `visa.jwt${enter}`],
      ['User name: ', `${user.username}${enter}`],
      ['Password (not shown', `${user.password}${enter}`],
      ['private key, or new to make one [new]: ', enter],
      ['Name of the new key [me]: ', enter],
      ['New passphrase of the key (not shown): ', `horse${enter}`],
      ['again: ', `horse${enter}`],
    ]);
    expect({ exitCode, shown }).toMatchObject({ exitCode: 0, shown: expect.stringContaining('Next, send me.pub.pem') });
    for (const secret of [user.password, 'horse', world.visa]) expect(shown).not.toContain(secret);
    const text = await readFile(join(folder, '.config/data-out/config.toml'), 'utf8');
    expect(parse(text)).toMatchObject({ username: user.username, visa_file: join(folder, 'visa.jwt') });

    await mkdir(join(folder, 'elsewhere'));
    const listing = await onTerminal([...startOf(world.script).command, 'list'], [], {
      folder: join(folder, 'elsewhere'),
      env: { HOME: folder },
    });
    expect(listing.shown).toContain('no files are staged');
    expect(listing.exitCode).toBe(0);
  });

  test('stores a wrong password, says so at the end, and keeps the other answers for the next time', async () => {
    const folder = await home('wrong');
    const given = ['setup', '--generate-key', 'me', '--no-passphrase'];
    const wrong = await dataOut(given, folder, [
      ['Address of the service: ', service()],
      ['File with your visa: ', `visa.jwt${enter}`],
      ['User name: ', `${user.username}${enter}`],
      ['Password (not shown', `wrong${enter}`],
    ]);
    expect({ ...wrong, exitCode: 3 }).toEqual(wrong);
    expect(wrong.shown).toContain("the central archive's user name or password is wrong");
    const right = await dataOut(['setup'], folder, [
      ['Address of the service [', enter],
      ['File with your visa [', enter],
      [`User name [${user.username}]: `, enter],
      ['Password (not shown; Enter: keep', `${user.password}${enter}`],
      ['File with your private key', enter],
    ]);
    expect({ ...right, exitCode: 0 }).toEqual(right);
  });
});

test('a full disk, here one without room for a byte: nothing is left behind', async () => {
  const folder = await home('full');
  await writeFile(join(folder, 'password'), user.password);
  const { proxyUrl } = world.service.connection;
  const given = ['--url', proxyUrl, '--visa', 'visa.jwt', '--username', user.username, '--password-file', 'password'];
  const { exitCode, stderr } = await runClient(
    ['setup', '--no-input', ...given, '--generate-key', 'me', '--no-passphrase'],
    { folder, env: { HOME: folder }, script: world.script, within: ['sh', '-c', 'ulimit -f 0; exec "$@"', 'sh'] },
  );
  expect({ exitCode, stderr }).toMatchObject({
    exitCode: 6,
    stderr: expect.stringContaining('too large for this file system'),
  });
  expect((await readdir(folder)).sort()).toEqual(['.config', 'password', 'visa.jwt']);
  expect(await readdir(join(folder, '.config/data-out'))).toEqual([]);
});
