import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { formatPublicKey } from '../../../lib/crypt4gh/index.ts';
import { verifyPassword } from '../../../lib/service/http/passwords.ts';
import { keyVector, manifest, vectorFile } from '../../helpers/crypt4gh-vectors.ts';
import { inputOf, makeOpsWorld, type OpsWorld, rowsOf, runTool } from '../../helpers/ops-world.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-ops-'));
  await writeFile(join(folder, 'password'), 'correct horse battery\n');
  await writeFile(join(folder, 'two-lines'), 'correct horse\nbattery\n');
});
afterAll(() => rm(folder, { recursive: true }));

let world: OpsWorld;
beforeEach(async () => {
  world = await makeOpsWorld();
});
const run = (argv: string[], choices = {}) => runTool(argv, world.target, { folder, ...choices });

describe('user add', () => {
  test.each([
    ['a file', ['--password-file', 'password'], {}],
    ['standard input', [], { input: inputOf('correct horse battery\r\n') }],
    ['a person, asked twice', [], { ask: async () => 'correct horse battery' }],
  ])('takes the password from %s; the edge accepts what is stored', async (_from, argv, choices) => {
    const { exitCode, stdout, stderr } = await run(['user', 'add', 'central', ...argv], choices);
    expect(exitCode).toBe(0);
    const stored = world.users.get('central');
    expect(stored).toMatch(/^\$scrypt\$ln=15,r=8,p=1\$/);
    expect(await verifyPassword('correct horse battery', stored)).toBe(true);
    expect(stdout + stderr).not.toContain('horse');
  });

  test('--generate prints the password once, and only there', async () => {
    const { stdout, stderr } = await run(['user', 'add', 'central', '--generate', '--json']);
    const { username, password } = JSON.parse(stdout);
    expect(username).toBe('central');
    expect(password).toMatch(/^[A-Za-z0-9_-]{32}$/);
    expect(stderr).not.toContain(password);
    expect(await verifyPassword(password, world.users.get('central'))).toBe(true);
  });

  test('a known user is left alone without --replace', async () => {
    world.users.set('central', 'old');
    const refused = await run(['user', 'add', 'central', '--password-file', 'password']);
    expect(refused.exitCode).toBe(9);
    expect(world.users.get('central')).toBe('old');
    const replaced = await run(['user', 'add', 'central', '--password-file', 'password', '--replace']);
    expect(replaced.exitCode).toBe(0);
    expect(world.users.get('central')).not.toBe('old');
  });

  test('disable', async () => {
    world.users.set('central', 'hash');
    expect((await run(['user', 'disable', 'central'])).exitCode).toBe(0);
    expect(world.users.size).toBe(0);
    const { exitCode, stderr } = await run(['user', 'disable', 'central']);
    expect(exitCode).toBe(4);
    expect(stderr).toContain('no active user central: data-out-ops user list shows the users');
  });
});

describe('admin', () => {
  test('add writes the secret in the form the authorizer reads, beside those that existed', async () => {
    world.secrets.administrators = { users: [{ username: 'first', password: 'hash', roles: ['ADMIN'] }] };
    const { exitCode } = await run(['admin', 'add', 'second', '--password-file', 'password']);
    expect(exitCode).toBe(0);
    expect(world.secrets.administrators).toEqual({
      users: [
        { username: 'first', password: 'hash', roles: ['ADMIN'] },
        { username: 'second', password: expect.stringMatching(/^\$scrypt\$ln=15,r=8,p=1\$/), roles: ['ADMIN'] },
      ],
    });
  });

  test('a secret that was never written is begun', async () => {
    // Of the stack before anything is written, and as an operator may have made it.
    for (const empty of [undefined, {}]) {
      world.secrets.administrators = empty;
      await run(['admin', 'add', 'first', '--password-file', 'password', '--role', 'READER', 'ADMIN']);
      expect(world.secrets.administrators).toMatchObject({
        users: [{ username: 'first', roles: ['READER', 'ADMIN'] }],
      });
    }
  });

  test('a known one is refused, replaced or removed', async () => {
    await run(['admin', 'add', 'first', '--generate']);
    const before = structuredClone(world.secrets.administrators);
    expect((await run(['admin', 'add', 'first', '--generate'])).exitCode).toBe(9);
    expect(world.secrets.administrators).toEqual(before);
    expect((await run(['admin', 'add', 'first', '--generate', '--replace'])).exitCode).toBe(0);
    expect(world.secrets.administrators).not.toEqual(before);
    expect((await run(['admin', 'remove', 'first'])).exitCode).toBe(0);
    expect(world.secrets.administrators).toEqual({ users: [] });
    const { exitCode, stderr } = await run(['admin', 'remove', 'first']);
    expect(exitCode).toBe(4);
    expect(stderr).toContain('no user first: data-out-ops admin list shows the users');
  });

  test('list shows names and roles, and no hash', async () => {
    expect(await run(['admin', 'list'])).toMatchObject({ stdout: '', stderr: expect.stringContaining('no users yet') });
    world.secrets.administrators = {
      users: [
        { username: 'helen', password: 'secret-hash', roles: ['ADMIN', 'READER'] },
        { username: 'al\u001b', password: 'secret-hash', roles: [] },
      ],
    };
    expect((await run(['admin', 'list'])).stdout).toBe('USER      ROLES\nhelen     ADMIN, READER\nal\\u{1b}\n');
    const json = await run(['admin', 'list', '--json']);
    expect(json.stdout.split('\n')[0]).toBe('{"username":"helen","roles":["ADMIN","READER"]}');
  });

  test('a malformed secret is not overwritten, and nothing of it is shown', async () => {
    world.secrets.administrators = { users: 'hunter2hunter2' };
    const { exitCode, stderr } = await run(['admin', 'add', 'first', '--generate']);
    expect(exitCode).toBe(2);
    expect(stderr).not.toContain('hunter2');
    expect(world.secrets.administrators).toEqual({ users: 'hunter2hunter2' });
  });
});

describe('archive-key', () => {
  test('--generate puts a new key before the others; the private key is in the secret alone', async () => {
    const { exitCode, stdout, stderr } = await run(['archive-key', 'add', '--generate']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('-----BEGIN CRYPT4GH PUBLIC KEY-----');
    expect(stdout + stderr).not.toContain('PRIVATE');
    const keys = rowsOf(await run(['archive-key', 'show', '--json']));
    expect(keys.map((key) => key.newest)).toEqual([true, false]);
    expect(stdout).toContain(keys[0].fingerprint);
    expect(keys[1].publicKey).toBe(formatPublicKey(world.archiveKey.publicKey));
  });

  test('a key file of another implementation, with its passphrase; the stored key needs none', async () => {
    const key = manifest.keys.find(({ id }) => id === 'alice')!;
    await writeFile(join(folder, 'alice.sec'), vectorFile(key.private!));
    await writeFile(join(folder, 'passphrase'), `${key.passphrase ?? ''}\n`);
    const { exitCode, stdout } = await run([
      ...['archive-key', 'add', 'alice.sec', '--passphrase-file', 'passphrase', '--json'],
    ]);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ keyHash: keyVector('alice').public_key_hex, newest: true });
    expect(JSON.stringify(world.secrets.archiveKeys)).not.toContain('passphrase');
    const again = await run(['archive-key', 'add', 'alice.sec', '--passphrase-file', 'passphrase']);
    expect(again).toMatchObject({ exitCode: 9, stderr: expect.stringContaining('already') });
  });

  test('a wrong passphrase is said, and the secret is as it was', async () => {
    const key = manifest.keys.find(({ passphrase }) => passphrase !== null)!;
    await writeFile(join(folder, 'locked.sec'), vectorFile(key.private!));
    const before = structuredClone(world.secrets.archiveKeys);
    const { exitCode, stderr } = await run(['archive-key', 'add', 'locked.sec'], { input: inputOf('not this one') });
    expect(stderr).toContain('locked.sec: the passphrase is wrong');
    expect(exitCode).toBe(3);
    expect(world.secrets.archiveKeys).toEqual(before);
  });
});

test('server-file prints where pyEGA3 finds everything, for either version', async () => {
  const { stdout } = await run(['server-file']);
  expect(JSON.parse(stdout)).toEqual({
    url_auth: 'https://direct.example.org/v1/ega/token',
    url_api: 'https://direct.example.org/v1',
    url_api_metadata: 'https://direct.example.org/v1/ega/v2',
    url_api_ticket: 'https://direct.example.org/v1',
    url_api_stats: 'https://direct.example.org/v1/ega/stats',
    client_secret: 'none',
    api_version: 2,
  });
  expect(JSON.parse((await run(['server-file', '--api-version', '1', '--json'])).stdout)).toMatchObject({
    url_api_metadata: 'https://direct.example.org/v1/ega/v1',
    url_api_ticket: 'https://direct.example.org/v1/htsget',
    api_version: 1,
  });
  expect((await run(['server-file', '--api-version', '3'])).exitCode).toBe(2);
  world = { ...world, target: { ...world.target, directUrl: undefined } };
  const { exitCode, stderr } = await run(['server-file']);
  expect([exitCode, stderr]).toEqual([4, expect.stringContaining('the deployment has no direct API')]);
});

describe('audit', () => {
  const row = {
    id: 1,
    requestId: 'a8ae4a8b-6dd3-4d1b-a2a4-0c0f0f8d3c5e',
    event: 'rejected',
    reason: 'not_released',
    archiveKind: 'fega',
    datasetId: 'EGAD1',
    fileId: null,
    recipient: null,
    keyFingerprint: null,
    bytes: null,
    checksum: null,
    recordedAt: '2026-11-21T10:00:00.000Z',
  };

  beforeEach(() => {
    world.audit.push(row, {
      ...row,
      id: 2,
      event: 'staged',
      reason: null,
      datasetId: 'EGAD2',
      fileId: 'EGAF2',
      bytes: 2048,
    });
  });

  test('tells the reason that the requester never learns', async () => {
    const { stdout } = await run(['audit', '--request', row.requestId, '--dataset', 'EGAD1']);
    expect(stdout).toBe(
      'TIME                      REQUEST                               EVENT     REASON        DATASET  FILE  SIZE  RECIPIENT  KEY\n' +
        '2026-11-21T10:00:00.000Z  a8ae4a8b-6dd3-4d1b-a2a4-0c0f0f8d3c5e  rejected  not_released  EGAD1\n',
    );
  });

  test('finds what one person was given, by the hash of iss and sub', async () => {
    // SHA-256 over `27:https://issuer.example.org/jane`, by sha256sum.
    const recipient = '04fb769be9ba4d4b83807c30800096f6b8f5f14a1d81fa1185d71629c69a21c6';
    world.audit.push({ ...row, id: 3, event: 'accepted', reason: null, recipient });
    const { stdout } = await run(['audit', '--json', '--subject', 'https://issuer.example.org/,jane']);
    expect(JSON.parse(stdout)).toMatchObject({ id: 3, recipient });
    expect(JSON.parse((await run(['audit', '--json', '--subject', recipient])).stdout)).toMatchObject({ id: 3 });
    expect((await run(['audit', '--subject', 'https://issuer.example.org/,john'])).stdout).toBe('');
  });

  test('--subject keeps the commas of sub, for the first one ends iss', async () => {
    // SHA-256 over `27:https://issuer.example.org/CN=Jane,O=Example`.
    world.audit.push({ ...row, id: 3, recipient: '81bfd09a21d50977b00f8f574023c8a70e0b17a329efdafca8dfd7a667dfee88' });
    const { stdout } = await run(['audit', '--json', '--subject', 'https://issuer.example.org/,CN=Jane,O=Example']);
    expect(JSON.parse(stdout)).toMatchObject({ id: 3 });
  });
});
