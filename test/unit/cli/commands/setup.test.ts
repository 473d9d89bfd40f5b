import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { parse } from 'smol-toml';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parsePrivateKey, parsePublicKey, publicKeyOf } from '../../../../lib/crypt4gh/index.ts';
import { InterruptedError } from '../../../../lib/terminal/errors.ts';
import { SetUpWorld, visas } from '../../../helpers/set-up-world.ts';

let world: SetUpWorld;
beforeEach(async () => {
  world = await SetUpWorld.start();
});
afterEach(() => world.stop());

const config = async () => parse(await readFile(world.configPath, 'utf8'));
const modeOf = async (path: string) => (await stat(path)).mode & 0o777;
/** Address, visa, user name, password. */
const service = () => [world.url, 'visa.jwt', world.username, world.password];

describe('a person without settings', () => {
  test('answers the questions, gets a key and a configuration, and learns what to do next', async () => {
    const run = await world.run(['setup'], [...service(), 'new', 'me', 'horse', 'horse']);
    expect(run.stderr).not.toContain('warning');
    expect(run.exitCode).toBe(0);
    expect(await config()).toEqual({
      url: world.url,
      visa_file: world.at('visa.jwt'),
      username: world.username,
      password_file: world.at('.config/data-out/password'),
      key_files: [world.at('me.sec.pem')],
    });
    expect(await readFile(world.at('.config/data-out/password'), 'utf8')).toBe(`${world.password}\n`);
    const privateKey = await parsePrivateKey(await readFile(world.at('me.sec.pem'), 'utf8'), 'horse');
    expect(parsePublicKey(await readFile(world.at('me.pub.pem'), 'utf8'))).toEqual(publicKeyOf(privateKey));
    expect(run.stdout.toString()).toContain('visa, user name and password are accepted');
    expect(run.stdout.toString()).toMatch(
      /Next: send me\.pub\.pem to the administrator of the archive\. Never send me\.sec\.pem: it opens your files\.\nWhen your files are staged: data-out list\n$/,
    );
  });
});
