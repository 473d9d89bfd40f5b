import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parsePrivateKey, parsePublicKey, publicKeyOf } from '../../../../../lib/crypt4gh/index.ts';
import { InterruptedError } from '../../../../../lib/terminal/errors.ts';
import { SetUpWorld, visas } from '../../../../helpers/set-up-world.ts';

let world: SetUpWorld;
beforeEach(async () => {
  world = await SetUpWorld.start();
});
afterEach(() => world.stop());

const config = async () => parse(await readFile(world.configPath, 'utf8'));
const modeOf = async (path: string) => (await stat(path)).mode & 0o777;
/** Names of everything in the person's folder. */
const everything = async () => (await readdir(world.folder, { recursive: true })).sort();
/** Answers to the first four questions. */
const service = () => [world.url, 'visa.jwt', world.username, world.password];
/** Options for the same. */
const options = async () => [
  ...['--url', world.url, '--visa', 'visa.jwt', '--username', world.username],
  ...['--password-file', await world.save('my password', `${world.password}\n`)],
];

async function configure(text: string): Promise<void> {
  await mkdir(join(world.configPath, '..'), { recursive: true });
  await writeFile(world.configPath, text);
}

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
      /Next, send me\.pub\.pem to the administrator of the archive\. Never send me\.sec\.pem, which opens your files\.\nWhen your files are staged, data-out list shows them\.\n$/,
    );
    expect((await world.run(['list'])).exitCode).toBe(0);
  });

  test('gets files that others cannot read', async () => {
    await world.run(['setup'], [...service(), 'new', 'me', 'horse', 'horse']);
    expect(await modeOf(world.at('.config/data-out'))).toBe(0o700);
    for (const name of ['.config/data-out/config.toml', '.config/data-out/password', 'me.sec.pem']) {
      expect([name, await modeOf(world.at(name))]).toEqual([name, 0o600]);
    }
  });

  test('sees neither password nor passphrase nor visa again', async () => {
    const { stdout, stderr, questions } = await world.run(['setup'], [...service(), '', '', 'horse', 'horse']);
    const shown = `${stdout}${stderr}${questions.join()}${await readFile(world.configPath, 'utf8')}`;
    for (const secret of [world.password, 'horse', visas.good]) expect(shown).not.toContain(secret);
  });

  test('may have a key already, which is not changed', async () => {
    await world.script(['keys', 'generate', 'old key', '--no-passphrase']);
    const before = await readFile(world.at('old key.sec.pem'), 'utf8');
    const run = await world.run(['setup'], [...service(), "'old key.sec.pem'"]);
    expect(run.exitCode).toBe(0);
    expect(await config()).toMatchObject({ key_files: [world.at('old key.sec.pem')] });
    expect(await readFile(world.at('old key.sec.pem'), 'utf8')).toBe(before);
    expect(run.stdout.toString()).toMatch(/\nNext, run data-out list\.\n$/);
  });
});

describe('a wrong answer is asked for again, with the reason', () => {
  /** Runs with these answers instead of the right one at `index`, then with the right ones. */
  async function corrected(index: number, ...wrong: string[]) {
    const right = [...service(), 'new', 'me', 'horse', 'horse'];
    const run = await world.run(['setup'], [...right.slice(0, index), ...wrong, ...right.slice(index)]);
    expect({ exitCode: run.exitCode, questions: run.questions.length }, run.stderr).toEqual({
      exitCode: 0,
      questions: 8 + wrong.length,
    });
    return run.stderr;
  }

  test.each([
    ['nothing', '', 'expected the address of the service, as in https://data-out.example.org/v1/'],
    ['no address', 'data-out.example.org', 'expected the address of the service'],
    ['with a password', 'https://me:hunter2@data-out.example.org/', 'must not contain a user name or password'],
  ])('an address: %s', async (_what, answer, reason) => {
    const stderr = await corrected(0, answer);
    expect(stderr).toContain(reason);
    expect(stderr).not.toContain('hunter2');
  });

  test.each([
    ['nothing', () => '', 'name the file in which you saved your visa'],
    ['no file', () => 'missing.jwt', 'there is no file'],
    ['the token itself', () => visas.good, 'expected the name of a file, got a token'],
  ])('a visa: %s', async (_what, answer, reason) => {
    const stderr = await corrected(1, answer());
    expect(stderr).toMatch(reason);
    for (const visa of Object.values(visas)) expect(stderr).not.toContain(visa);
  });
});

test.each([
  ['an address where no service listens', 0, 'http://127.0.0.1:1/v1/', 7, 'address', 'no service listens there'],
  ['an address that is not encrypted', 0, 'http://data-out.example.org/v1/', 2, 'settings', 'is not encrypted'],
  ['an address without its version', 0, '/', 1, 'address', 'does not answer as a data-out service'],
  ['an expired visa', 1, 'expired.jwt', 3, 'visa', 'for jane: expired at 2020-01-01T00:00:00.000Z'],
  ['a visa of another issuer', 1, 'foreign.jwt', 3, 'credentials', 'untrusted_issuer'],
  ['no user name where one is needed', 2, '', 3, 'credentials', 'credentials are missing'],
  ['a wrong password', 3, 'wrong', 3, 'credentials', "the central archive's user name or password is wrong"],
])('%s is stored, and the checks at the end name it; the next setup corrects it', async (...row) => {
  const [, index, wrong, exitCode, check, reason] = row;
  const answers = [...service(), 'new', 'me', 'a', 'a'];
  answers[index] = wrong === '/' ? new URL('/', world.url).href : wrong;
  if (wrong === '') answers.splice(3, 1);
  const run = await world.run(['setup'], answers);
  expect(run.exitCode).toBe(exitCode);
  expect(run.stdout.toString()).toContain(reason);
  expect(run.stdout.toString()).not.toContain('Next:');
  expect(run.stderr).toMatch(
    new RegExp(`your settings are stored, but \\d of \\d checks failed, first: ${check}\n.*data-out setup`),
  );
  const kept = ['', '', '', '', '', 'a'];
  kept[index] = service()[index] ?? '';
  if (wrong === '') kept[3] = world.password;
  expect((await world.run(['setup'], kept)).exitCode).toBe(0);
});

describe('a person with settings', () => {
  const old = () =>
    `# mine\nurl = "${world.url}"\nvisa_file = "../../visa.jwt"\ninsecure_http = true\nkey_files = ["old.sec.pem"]\n`;

  test('finds them in brackets, and keeps by Enter what is not asked for, or not changed', async () => {
    await configure(old());
    await world.script(['keys', 'generate', '.config/data-out/old', '--no-passphrase']);
    const run = await world.run(['setup'], ['', '', world.username, world.password, '']);
    expect(run.exitCode).toBe(0);
    expect(run.questions[1]).toBe(`File with your visa [${world.at('visa.jwt')}]: `);
    expect(await config()).toEqual({
      url: world.url,
      visa_file: world.at('visa.jwt'),
      username: world.username,
      password_file: world.at('.config/data-out/password'),
      key_files: [world.at('.config/data-out/old.sec.pem')],
      insecure_http: true,
    });
    expect(await readFile(`${world.configPath}.bak`, 'utf8')).toBe(old());
    expect(run.stderr).toContain(`the old ones: ${world.configPath}.bak`);
  });

  test('keeps a file that is in the place of the password, and is not theirs', async () => {
    await configure('');
    await writeFile(world.at('.config/data-out/password'), 'of another program');
    const { exitCode, stderr } = await world.run(['setup'], [...service(), 'new', 'me', 'a', 'a']);
    const taken = `${world.at('.config/data-out/password')} exists already`;
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 6, stderr: expect.stringContaining(taken) });
    expect(await everything()).not.toContain('me.sec.pem');
    expect(await readFile(world.at('.config/data-out/password'), 'utf8')).toBe('of another program');
  });
});

describe('everything stays as it was', () => {
  const right = () => [...service(), 'new', 'me', 'horse', 'horse'];

  test.each([0, 1, 2, 3, 4, 5, 6, 7])('after Ctrl-C at question %i', async (count) => {
    await configure('# mine\n');
    const before = await everything();
    const interruption = new AbortController();
    let asked = 0;
    const ask = async () => {
      const answer = right()[asked] ?? '';
      if (asked++ < count) return answer;
      interruption.abort(new InterruptedError());
      throw interruption.signal.reason;
    };
    const choices = { ask, askShown: ask, askAside: ask, signal: interruption.signal };
    expect((await world.run(['setup'], [], choices)).exitCode).toBe(130);
    expect(await everything()).toEqual(before);
    expect(await readFile(world.configPath, 'utf8')).toBe('# mine\n');
  });

  test('when the configuration cannot be written: no key and no password is left behind', async () => {
    await configure('# mine\n');
    // A folder of that name cannot be replaced by the old configuration.
    await mkdir(`${world.configPath}.bak`);
    const before = await everything();
    expect((await world.run(['setup'], right())).exitCode).toBe(6);
    expect(await everything()).toEqual(before);
    expect(await readFile(world.configPath, 'utf8')).toBe('# mine\n');
  });
});

describe('without a person', () => {
  test('takes all answers from options', async () => {
    const key = ['--generate-key', 'me', '--no-passphrase'];
    const { exitCode, stdout } = await world.script(['setup', '--no-input', ...(await options()), ...key, '--json']);
    expect(exitCode).toBe(0);
    expect(await config()).toEqual({
      url: world.url,
      visa_file: world.at('visa.jwt'),
      username: world.username,
      password_file: world.at('my password'),
      key_files: [world.at('me.sec.pem')],
    });
    expect(JSON.parse(stdout.toString().trimEnd().split('\n').at(-1) ?? '')).toEqual({
      config: world.configPath,
      publicKey: world.at('me.pub.pem'),
      privateKey: world.at('me.sec.pem'),
      next: 'data-out list',
    });
    expect((await world.script(['list'])).exitCode).toBe(0);
  });

  test.each([
    ['no address', [], 2, '--url: expected the address'],
    ['no visa', ['--visa', 'missing.jwt'], 4, '--visa: there is no file'],
    ['no key of that name', ['--key', 'missing.pem'], 4, '--key: there is no file'],
    ['two keys', ['--key', 'a.pem', '--generate-key', 'me'], 2, 'cannot be used with option'],
    ['a new key without a passphrase', ['--generate-key', 'me'], 2, '--no-passphrase'],
  ])('refuses %s, and writes nothing', async (what, more, code, reason) => {
    const given = what === 'no address' ? [] : await options();
    const before = await everything();
    const { exitCode, stderr } = await world.script(['setup', '--no-input', ...given, ...more]);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: code, stderr: expect.stringContaining(reason) });
    expect(await everything()).toEqual(before);
  });
});
