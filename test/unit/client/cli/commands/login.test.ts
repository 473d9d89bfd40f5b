import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LoginProvider } from '../../../../helpers/login-provider.ts';
import { farAhead, SetUpWorld, visas } from '../../../../helpers/set-up-world.ts';
import { unverifiedToken, visaClaims } from '../../../../helpers/unverified-token.ts';

let world: SetUpWorld;
let provider: LoginProvider;
beforeEach(async () => {
  [world, provider] = await Promise.all([SetUpWorld.start(), LoginProvider.start()]);
  world.login = provider.login;
  world.needsPassword = false;
  provider.visas = [visas.good];
  provider.approves = 'jane@example.org';
});
afterEach(async () => {
  await world.stop();
  await provider.stop();
});

const folder = () => world.at('.config/data-out');
const run = (...argv: string[]) => world.script(argv, { DATA_OUT_URL: world.url });
const passport = async () => JSON.parse(await readFile(`${folder()}/passport.json`, 'utf8')).ga4gh_passport_v1;

describe('login', () => {
  test('stores the visas for every command, and shows no token', async () => {
    const { exitCode, stdout, stderr } = await run('login');
    expect(exitCode, stderr).toBe(0);
    expect(stderr).toMatch(/^Open http\S+\/device in any browser, on any device, and enter the code \w{4}-\w{4}\n/m);
    expect(stdout.toString()).toBe('Signed in as jane@example.org, with visas for 1 dataset: EGAD1\n');
    expect(await passport()).toEqual([visas.good]);
    expect((await stat(`${folder()}/passport.json`)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder())).toEqual(['passport.json']);
    expect(`${stdout}${stderr}`).not.toContain('eyJ');
    expect((await run('list')).exitCode).toBe(0);
    expect((await run('doctor')).stdout.toString()).toContain('the visa is accepted');
  });

  test('leaves out visas that the service does not accept, and says so', async () => {
    provider.visas = [visas.foreign, visas.good];
    const { stderr } = await run('login');
    expect(await passport()).toEqual([visas.good]);
    expect(stderr).toContain('visas of https://other.example.org/ are left out');
  });

  test('that is denied has the exit code of a refusal, and keeps the visas of before', async () => {
    await run('login');
    provider.approves = undefined;
    provider.change = (path, { body }) => {
      if (path === '/device/auth') void provider.decide(String(body.user_code), 'deny');
      return undefined;
    };
    const { exitCode, stderr } = await run('login');
    expect([exitCode, await passport()]).toEqual([3, [visas.good]]);
    expect(stderr).toContain('the sign-in was refused');
  });

  test('replaces a sign-in that was kept, and makes the service forget that one', async () => {
    await run('login', '--keep');
    await run('login');
    expect(await readdir(folder())).toEqual(['passport.json']);
    expect(provider.requests).toContain('/token/revocation');
  });

  test.each(['DATA_OUT_VISA', 'ELIXIR_AAI_TOKEN', 'DATA_OUT_VISA_FILE'])('warns that %s overrides it', async (name) => {
    const env = { DATA_OUT_URL: world.url, [name]: name.endsWith('FILE') ? 'visa.jwt' : visas.good };
    expect((await world.script(['login'], env)).stderr).toContain(`${name} sets another visa, which overrides`);
  });

  test('warns of each secret that Git can commit', async () => {
    await mkdir(world.at('.git'));
    await writeFile(world.at('config.toml'), '');
    const { stderr } = await run('--config', world.at('config.toml'), 'login', '--keep');
    for (const file of ['passport.json', 'login.json']) {
      expect(stderr).toContain(`Git can commit the secret ${world.at(file)}`);
    }
  });

  test('where the archive offers none says what to do instead', async () => {
    world.login = undefined;
    const { exitCode, stderr } = await run('login');
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('Example Archive has not set up signing in')]);
  });
});

describe('visas', () => {
  const other = unverifiedToken(visaClaims('https://archive.example.org/datasets/EGAD2', { exp: farAhead - 86_400 }));
  const longer = unverifiedToken(visaClaims('https://archive.example.org/datasets/EGAD2', { exp: farAhead - 1 }));

  test('are listed with who granted them', async () => {
    provider.visas = [visas.good, other];
    await run('login');
    const { stdout } = await run('visas');
    expect(
      stdout
        .toString()
        .split('\n')
        .slice(0, 2)
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ['DATASET', 'UNTIL', 'GRANTED BY', 'ISSUER'],
      ['EGAD1', '2100-01-01 00:00', 'https://dac.example.org', 'https://issuer.example.org/'],
    ]);
  });

  test('are written one by one, the one that is valid longest, for the owner alone', async () => {
    provider.visas = [visas.good, other, longer];
    await run('login');
    const { exitCode, stderr } = await run('visas', 'save', 'EGAD2', '-o', 'for-admin.jwt');
    expect(exitCode, stderr).toBe(0);
    expect(await readFile(world.at('for-admin.jwt'), 'utf8')).toBe(`${longer}\n`);
    expect((await stat(world.at('for-admin.jwt'))).mode & 0o777).toBe(0o600);
    expect((await run('visas', 'save', 'EGAD3', '-o', 'x.jwt')).stderr).toContain('none of your 3 visas grants EGAD3');
  });

  test.each([
    ['that are kept are renewed for the dataset before it is written', ['--keep'], [0, visas.good]],
    ['that have expired are not written', [], [3, visas.expired]],
  ])('%s', async (_what, how, [exitCode, stored]) => {
    provider.visas = [visas.expired, other];
    await run('login', ...how);
    provider.visas = [visas.good, other];
    const save = await run('visas', 'save', 'EGAD1', '-o', 'for-admin.jwt');
    expect([save.exitCode, (await passport())[0]]).toEqual([exitCode, stored]);
    if (exitCode !== 0) expect(save.stderr).toMatch(/the visa for EGAD1 expired at .*\n.*Run data-out login\./);
  });

  test('of another identity are named, because their files are not listed', async () => {
    provider.visas = [visas.good, unverifiedToken(visaClaims('EGAD2', { sub: 'jane-2' }))];
    await run('login');
    expect((await run('list')).stderr).toContain('Other identities in it: 1; their files are not reached.');
  });

  test('of a file are chosen by the issuers that the service accepts', async () => {
    const foreign = unverifiedToken(visaClaims('EGAD1', { exp: farAhead + 1, iss: 'https://other.example.org/' }));
    await writeFile(world.at('rems.json'), JSON.stringify({ ga4gh_passport_v1: [foreign, visas.good] }));
    const { exitCode, stderr } = await run('list', '--visa', 'rems.json');
    expect(exitCode, stderr).toBe(0);
    expect(stderr).not.toContain('Other identities');
  });

  test('of a passport file fit an export, too', async () => {
    await writeFile(world.at('rems.json'), JSON.stringify({ ga4gh_passport_v1: [other, visas.good] }));
    await run('keys', 'generate', 'me', '--no-passphrase');
    const order = ['--visa', 'rems.json', '--public-key', 'me.pub.pem', '--dry-run', '--json'];
    const { stdout } = await run('admin', 'export', 'EGAD2', ...order);
    expect(JSON.parse(stdout.toString())).toMatchObject({ doubts: [], visaExpires: '2099-12-31T00:00:00.000Z' });
    const ofFile = await run('admin', 'export', 'EGAF00000000001', ...order);
    expect([ofFile.exitCode, ofFile.stderr]).toEqual([2, expect.stringContaining('visas for several datasets')]);
  });
});

describe('expired visas of a sign-in', () => {
  test('are renewed once by a token that changes, when it was kept, even if that takes long', async () => {
    provider.visas = [visas.expired];
    await run('login', '--keep');
    expect((await stat(`${folder()}/login.json`)).mode & 0o777).toBe(0o600);
    const before = await readFile(`${folder()}/login.json`, 'utf8');
    provider.visas = [visas.good];
    provider.change = async (path) => (path === '/me' ? await pause(3000, undefined) : undefined);
    const both = await Promise.all([run('list'), run('list')]);
    expect(both.map(({ exitCode, stderr }) => `${exitCode} ${stderr}`)).toEqual(
      Array(2).fill(expect.stringMatching(/^0 /)),
    );
    expect(await passport()).toEqual([visas.good]);
    expect(await readFile(`${folder()}/login.json`, 'utf8')).not.toBe(before);
    expect(provider.grants.filter((grant) => grant.get('grant_type') === 'refresh_token')).toHaveLength(1);
  });

  test('are renewed when the service refuses them before they end', async () => {
    provider.visas = [unverifiedToken(visaClaims('EGAD1', { exp: farAhead, iat: 1 }))];
    await run('login', '--keep');
    expect((await run('list')).exitCode).toBe(3);
    provider.visas = [visas.good];
    const { exitCode, stderr } = await run('list');
    expect([exitCode, await passport()], stderr).toEqual([0, [visas.good]]);
  });

  test.each([
    ['once, even if they have expired already by a fast clock', 0, undefined],
    ['in vain while the sign-in service is down, and are used until they end', 30, 'down'],
  ])('are renewed %s', async (_what, seconds, isDown) => {
    world.accepted = unverifiedToken(visaClaims('EGAD1', { exp: 1_795_255_200 + seconds }));
    provider.visas = [world.accepted];
    await run('login', '--keep');
    provider.change = (path) => (isDown && path === '/token' ? 'lose' : undefined);
    const before = provider.requests.length;
    const { stdout } = await run('doctor');
    expect(stdout.toString()).toContain('the visa is accepted');
    expect(provider.requests.slice(before).filter((path) => path === '/token')).toHaveLength(isDown ? 2 : 1);
  });

  test('need another sign-in otherwise', async () => {
    provider.visas = [visas.expired];
    await run('login');
    const { exitCode, stderr } = await run('list');
    expect([exitCode, stderr]).toEqual([3, expect.stringContaining('Get a new visa with data-out login')]);
  });
});

test('logout without a sign-in writes nothing', async () => {
  expect((await run('logout')).stdout.toString()).toBe('You were not signed in\n');
  expect(await readdir(world.at('.'), { recursive: true })).not.toContain('.config/data-out');
});

test('logout removes everything and ends the sign-in', async () => {
  await run('login', '--keep');
  expect((await run('logout')).stdout.toString()).toBe('Signed out\n');
  expect(await readdir(folder())).toEqual([]);
  expect(provider.requests).toContain('/token/revocation');
  expect((await run('logout')).stdout.toString()).toBe('You were not signed in\n');
  await run('login', '--keep');
  await provider.stop();
  const { exitCode, stderr } = await run('logout');
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining('still knows the token')]);
  expect(await readdir(folder())).toEqual([]);
});

test('logout removes everything even if the sign-in service cannot be asked', async () => {
  await run('login', '--keep');
  const { exitCode, stderr } = await run('logout', '--ca', 'missing.pem');
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining('still knows the token')]);
  expect(await readdir(folder())).toEqual([]);
});

test('logout waits for a command that renews, and revokes the token that it got', async () => {
  provider.visas = [visas.expired];
  await run('login', '--keep');
  provider.visas = [visas.good];
  let renews = () => {};
  const renewing = new Promise<void>((resolve) => {
    renews = resolve;
  });
  provider.change = async (path) => {
    if (path === '/me') renews();
    if (path === '/me') await pause(500);
    return undefined;
  };
  const list = run('list');
  await renewing;
  const { stdout } = await run('logout');
  expect([stdout.toString(), (await list).exitCode]).toEqual(['Signed out\n', 0]);
  expect(await readdir(folder())).toEqual([]);
});

describe('setup where people sign in', () => {
  const withKey = ['--generate-key', 'me', '--no-passphrase'];

  test('asks for no visa, and for no user name where none is needed', async () => {
    world.basicRequired = false;
    await run('login');
    const setup = await world.run(['setup'], [world.url, 'new', 'me', 'horse', 'horse']);
    expect(setup.exitCode, setup.stderr).toBe(0);
    expect(await readFile(world.configPath, 'utf8')).not.toMatch(/visa_file|username/);
    expect(setup.stdout.toString()).toContain('the visa is accepted');
    expect((await world.run(['list'])).exitCode).toBe(0);
  });

  test('leaves the sign-in and the new key to the user', async () => {
    const { stdout } = await run('setup', '--no-input', '--url', world.url, ...withKey, '--json');
    expect(JSON.parse(stdout.toString())).toMatchObject({
      publicKey: world.at('me.pub.pem'),
      privateKey: world.at('me.sec.pem'),
      next: 'data-out login',
    });
  });

  test('says how to renew the visas of a sign-in that have expired', async () => {
    provider.visas = [visas.expired];
    await run('login');
    const { exitCode, stdout } = await world.run(['setup', ...withKey], [world.url, '', '']);
    expect([exitCode, stdout.toString()]).toEqual([3, expect.stringContaining('Run data-out login.')]);
  });
});
