import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSettings } from '../../../../lib/client/cli/settings.ts';
import { makeTerminal } from '../../../helpers/ops-world.ts';

/** Three parts of base64url, as a visa has them; it says nothing. */
const visa = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl';
const otherVisa = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ5b3UifQ.c2lnbmF0dXJl';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-settings-'));
  await mkdir(join(folder, 'home/.config/data-out'), { recursive: true });
  await writeFile(join(folder, 'visa.jwt'), `${visa}\n`);
  await writeFile(join(folder, 'other.jwt'), otherVisa);
  await writeFile(join(folder, 'password'), 'from a file\n');
  await writeFile(join(folder, 'home/.config/data-out/visa.jwt'), otherVisa);
  await writeFile(
    join(folder, 'home/.config/data-out/config.toml'),
    [
      'url = "https://config.example.org/v1"',
      'visa_file = "visa.jwt"',
      'username = "config-user"',
      'key_files = ["~/key.pem", "keys/second.pem"]',
    ].join('\n'),
  );
});
afterAll(() => rm(folder, { recursive: true }));

async function settings(options: Parameters<typeof readSettings>[0], env: Record<string, string> = {}) {
  const home = env.DATA_OUT_CONFIG === undefined ? join(folder, 'home') : join(folder, 'no home');
  const { terminal } = makeTerminal({ folder, env: { HOME: home, ...env } });
  return await readSettings(options, terminal);
}

async function configured(text: string) {
  await writeFile(join(folder, 'other config.toml'), text);
  return await settings({ config: 'other config.toml' });
}

describe('where settings come from', () => {
  test('an option beats the environment, which beats the configuration file', async () => {
    const url = async (...args: Parameters<typeof settings>) => (await settings(...args)).proxyUrl?.href;
    const env = { DATA_OUT_URL: 'https://env.example.org/' };
    expect(await url({}, {})).toBe('https://config.example.org/v1');
    expect(await url({}, env)).toBe('https://env.example.org/');
    expect(await url({ url: 'https://option.example.org/' }, env)).toBe('https://option.example.org/');
  });

  test('the names that clients in the field use are understood, behind our own', async () => {
    const field = {
      LOCAL_EGA_INSTANCE_URL: 'https://field.example.org/',
      ELIXIR_AAI_TOKEN: visa,
      CENTRAL_EGA_USERNAME: 'central',
      CENTRAL_EGA_PASSWORD: 'central-password',
    };
    const found = await settings({}, field);
    expect(found.proxyUrl?.href).toBe('https://field.example.org/');
    expect(await found.visa?.()).toBe(visa);
    expect(await found.basic?.()).toEqual({ username: 'central', password: 'central-password' });
    const own = await settings({}, { ...field, DATA_OUT_USERNAME: 'own', DATA_OUT_VISA: otherVisa });
    expect((await own.basic?.())?.username).toBe('own');
    expect(await own.visa?.()).toBe(otherVisa);
  });

  test('paths of the configuration file begin at its folder, and know ~', async () => {
    const found = await settings({});
    expect(await found.visa?.()).toBe(otherVisa);
    expect(found.keyFiles[0]).toMatch(/\/key\.pem$/);
    expect(found.keyFiles[0]).not.toContain('~');
    expect(found.keyFiles[1]).toBe(join(folder, 'home/.config/data-out/keys/second.pem'));
  });

  test('a file with the visa is read again each time: visas are renewed', async () => {
    const path = join(folder, 'renewed.jwt');
    await writeFile(path, visa);
    const found = await settings({ visa: path });
    expect(await found.visa?.()).toBe(visa);
    await writeFile(path, otherVisa);
    expect(await found.visa?.()).toBe(otherVisa);
  });

  test('a password without a file or variable is asked for, once', async () => {
    const questions: string[] = [];
    const askAside = async (question: string) => {
      questions.push(question);
      return 'typed';
    };
    const { terminal } = makeTerminal({ folder, askAside, env: { HOME: '/nowhere', DATA_OUT_USERNAME: 'me' } });
    const found = await readSettings({}, terminal);
    expect(questions).toEqual([]);
    expect(await found.basic?.()).toEqual({ username: 'me', password: 'typed' });
    await found.basic?.();
    expect(questions).toEqual(['Password of me: ']);
  });

  test('an empty variable is an empty passphrase, as an empty file is; every other empty variable is not set', async () => {
    await writeFile(join(folder, 'empty'), '\n');
    expect(await (await settings({ passphraseFile: 'empty' })).passphrase?.()).toBe('');
    for (const name of ['DATA_OUT_PASSPHRASE', 'C4GH_PASSPHRASE']) {
      expect(await (await settings({}, { [name]: '' })).passphrase?.()).toBe('');
    }
    const both = await settings({}, { DATA_OUT_PASSPHRASE: '', C4GH_PASSPHRASE: 'other' });
    expect(await both.passphrase?.()).toBe('');
    const others = { DATA_OUT_URL: '', DATA_OUT_VISA: '', DATA_OUT_USERNAME: '', DATA_OUT_KEY_FILE: '' };
    const { proxyUrl, visa, passphrase } = await settings({}, others);
    expect([proxyUrl?.href, await visa?.(), passphrase]).toEqual([
      'https://config.example.org/v1',
      otherVisa,
      undefined,
    ]);
  });
});

describe('an error names the source of the wrong value', () => {
  test.each([
    [{ url: 'data-out.example.org' }, {}, '--url'],
    [{ url: 'ftp://data-out.example.org/' }, {}, '--url'],
    [{}, { DATA_OUT_URL: 'nonsense' }, 'DATA_OUT_URL'],
    [{}, { LOCAL_EGA_INSTANCE_URL: 'https://example.org/?a=b' }, 'LOCAL_EGA_INSTANCE_URL'],
    [{ username: 'a:b' }, {}, '--username'],
  ])('%j %j', async (options, env, source) => {
    await expect(settings(options, env)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(`^${source}: `),
    });
  });

  test.each([
    ['url = nonsense', 'line 1'],
    ['url = "https://a.example.org"\nvisa_file =', 'line 2'],
    ['urls = "https://a.example.org"', 'urls: there is no such setting'],
    ['url = 5', 'url: expected text in quotes'],
    ['insecure_http = "yes"', 'insecure_http: expected true or false'],
    ['key_files = "me.pem"', 'key_files: expected a list'],
  ])('in a configuration file: %j', async (text, named) => {
    await expect(configured(text)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(new RegExp(`other config\\.toml.*${named}`)),
    });
  });
});

describe('secrets are in no error', () => {
  async function messageOf(work: Promise<unknown>): Promise<string> {
    const error = await work.then(
      () => new Error('nothing was wrong'),
      (reason: Error) => reason,
    );
    return `${error.message} ${'remedy' in error ? error.remedy : ''} ${error.stack}`;
  }

  test.each([
    ['a token', visa],
    ['a broken line', visa.replaceAll(/(.{9})/g, '$1\n')],
    ['a header', `Bearer ${visa}`],
    ['JSON', JSON.stringify({ ga4gh_passport_v1: [visa] })],
  ])('%s where a file name belongs is refused without being repeated', async (_what, given) => {
    const message = await messageOf(settings({ visa: given }));
    expect(message).toContain('--visa: expected the name of a file, got a token');
    expect(message).not.toContain(visa.slice(3, 20));
  });

  test('a text that is not a visa is refused and not repeated', async () => {
    const { visa: read } = await settings({}, { DATA_OUT_VISA: 'my secret token' });
    const message = await messageOf(read?.() ?? Promise.resolve());
    expect(message).toContain('DATA_OUT_VISA: expected one visa');
    expect(message).not.toContain('secret token');
  });

  test('an address with a password is refused without being repeated', async () => {
    const message = await messageOf(settings({ url: 'https://me:hunter2@example.org/' }));
    expect(message).toContain('addresses end up in logs');
    expect(message).not.toContain('hunter2');
  });

  test.each(['password = "hunter2"', 'visa = "hunter2"', 'password = hunter2'])(
    '%j in a configuration file',
    async (text) => {
      const message = await messageOf(configured(text));
      expect(message).toContain('other config.toml');
      expect(message).not.toContain('hunter2');
    },
  );
});
