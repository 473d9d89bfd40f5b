import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { retirementExitCodes } from '../../../../lib/ops/retirement/errors.ts';
import { initialState, packageToken, RegistryServer, repositoryToken } from '../../../helpers/registry-server.ts';
import { retireRelease } from '../../../helpers/retirement-world.ts';

let server: RegistryServer;
beforeAll(async () => {
  server = await RegistryServer.start();
});
afterAll(() => server.stop());
beforeEach(() => server.reset());
afterEach(() => expect(server.violations).toEqual([]));

const apply = (argv: string[] = [], choices: Parameters<typeof retireRelease>[2] = {}) =>
  retireRelease(server, ['--apply', '--yes', ...argv], choices);
const broken = () => server.state.versions.find(({ id }) => id === 105)!;

type Case = readonly [
  what: string,
  exitCode: number,
  message: string,
  prepare: () => void,
  argv?: string[] | undefined,
  named?: Record<string, string> | undefined,
];

describe('refused before anything is changed', () => {
  const none = () => {};
  test.each([
    ['the replacement is the version', 21, 'is the broken version itself', none, [], { replacement: '1.2.0' }],
    ['a Git tag of another version', 22, 'not one of proxy 1.2.0', none, ['--tag', 'proxy-1.2.1']],
    ['a Git tag of another component', 22, 'not one of proxy 1.2.0', none, ['--tag', 'auth-1.2.0']],
    ['a Git tag with more before the version', 22, 'not one of proxy 1.2.0', none, ['--tag', 'proxy-11.2.0']],
    ['no such organization', 44, 'no organization missing', none, [], { org: 'missing' }],
    ['no such package', 45, 'no container package proxi', none, [], { package: 'proxi' }],
    ['no such repository', 46, 'no repository archiv', none, [], { repository: 'archiv' }],
    ['nothing of that version', 47, 'nothing of proxy-9.9.9', none, ['--no-release'], { version: '9.9.9' }],
    ['a version that begins as another', 47, 'nothing of proxy-1.2.0-rc', none, [], { version: '1.2.0-rc' }],
    ['no release entry', 48, '--no-release', () => void server.state.releases.splice(1, 1)],
    ['no such replacement', 49, 'proxy-1.3.0 is not in the package', none, [], { replacement: '1.3.0' }],
    [
      'an unknown package token',
      37,
      'REGISTRY_PACKAGE_TOKEN: Bad credentials',
      () => void server.tokens.delete(packageToken),
    ],
    ['an unknown repository token', 37, 'REGISTRY_REPO_TOKEN: Bad', () => void server.tokens.delete(repositoryToken)],
    [
      'a package token that may only read',
      38,
      'REGISTRY_PACKAGE_TOKEN lacks the scope delete:packages (it has: read:packages)',
      () => void server.tokens.set(packageToken, { scopes: ['read:packages'], push: false }),
    ],
    [
      'the repository token in the place of the package token',
      38,
      'REGISTRY_PACKAGE_TOKEN lacks the scope delete:packages (it has: repo)',
      () => void server.tokens.set(packageToken, { scopes: ['repo'], push: true }),
    ],
    [
      'the package token in the place of the repository token',
      38,
      'REGISTRY_REPO_TOKEN lacks the scope repo (it has: delete:packages)',
      () => void server.tokens.set(repositoryToken, { scopes: ['delete:packages'], push: true }),
    ],
    [
      'an account that may only read the repository',
      39,
      'the account of REGISTRY_REPO_TOKEN may only read',
      () => void server.tokens.set(repositoryToken, { push: false }),
    ],
    [
      'a token without single sign-on',
      39,
      'single sign-on first: https://platform.example.org/sso',
      () => void server.tokens.set(packageToken, { push: false, singleSignOn: 'https://platform.example.org/sso' }),
    ],
    [
      'two versions with the tag',
      91,
      '2 versions carry the tag proxy-1.2.0: 106',
      () => void server.state.versions[1]!.tags.push('proxy-1.2.0'),
    ],
    [
      'other tags',
      92,
      'version 105 carries also auth-1.0.0, latest (floating); say --also-remove-tags',
      () => void broken().tags.push('latest', 'auth-1.0.0'),
    ],
    [
      'fewer tags said than there are',
      92,
      '--also-remove-tags names latest',
      () => void broken().tags.push('latest', 'auth-1.0.0'),
      ['--also-remove-tags', 'latest'],
    ],
    ['more tags said than there are', 92, 'carries no other tag', none, ['--also-remove-tags', 'latest']],
    [
      'the replacement is a tag of the broken image',
      21,
      'a tag of the broken image itself',
      () => {
        broken().tags.push('proxy-1.2.1');
        server.state.versions[0]!.tags = ['latest'];
      },
      ['--also-remove-tags', 'proxy-1.2.1'],
    ],
    [
      'two release entries',
      95,
      '2 release entries',
      () => void server.state.releases.push({ id: 12, tag: 'proxy-1.2.0', name: 'Draft', draft: true }),
    ],
    [
      'a replacement that is broken itself',
      96,
      'the release of 1.2.1 is marked as broken itself',
      () => {
        server.state.releases[0]!.name = 'Proxy 1.2.1-verified-broken';
      },
    ],
    [
      'a repository that has moved',
      99,
      'leads to https://platform.example.org/repositories/7',
      () =>
        void server.faults.set(1, {
          status: 301,
          headers: { location: 'https://platform.example.org/repositories/7' },
        }),
    ],
  ] satisfies Case[])('%s', async (...row) => {
    const [_what, exitCode, message, prepare, argv = [], named = {}] = row as Case;
    prepare();
    const before = structuredClone(server.state);
    const run = await apply(argv, { named });
    expect(run.stderr).toContain(message);
    expect(run.exitCode).toBe(exitCode);
    expect(server.writes).toEqual([]);
    expect(server.state).toEqual(before);
  });

  test.each([
    ['org', '..'],
    ['org', 'a/b'],
    ['repository', '..'],
    ['repository', 'a/../b'],
    ['package', '../proxy'],
    ['package', 'a/../../b'],
    ['component', ''],
    ['version', '1.2.0/../..'],
    ['version', 'a b'],
    ['replacement', '1.2.1?'],
    ['version', 'x'.repeat(130)],
  ])('--%s %j is not a name', async (name, value) => {
    const { exitCode, stderr } = await apply([], { named: { [name]: value } });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`--${name}`);
    expect(server.calls).toEqual([]);
  });

  test('a version that no Git tag can have needs --tag, which then must match', async () => {
    const { exitCode, stderr } = await apply([], { named: { version: '1..2' } });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--tag');
  });

  test.each([
    '../heads/main',
    'a/../../heads/1.2.0',
    'refs/../1.2.0',
    '.1.2.0',
    'a//1.2.0',
    'x.lock',
    'a@{1.2.0',
    '-1.2.0',
  ])('--tag %j is not a name of a Git tag', async (tag) => {
    const { exitCode } = await apply([`--tag=${tag}`]);
    expect(exitCode).toBe(2);
    expect(server.calls).toEqual([]);
  });
});

describe('refused by the platform at a step: the steps after it do not run', () => {
  test('too many downloads', async () => {
    Object.assign(broken(), { overDownloaded: true });
    const { exitCode, stderr } = await apply();
    expect(stderr).toContain('more than 5000 downloads');
    expect(exitCode).toBe(93);
    expect(server.writes).toHaveLength(1);
    expect(server.state.tags).toEqual(initialState().tags);
  });

  test('a Git tag that is protected, after image and release', async () => {
    server.protectedTags.add('proxy-1.2.0');
    const { exitCode, stderr } = await apply();
    expect(stderr).toContain('Cannot delete this tag');
    expect(stderr).toContain('the same command resumes after them');
    expect(exitCode).toBe(97);
    expect(server.writes).toHaveLength(3);
    server.protectedTags.clear();
    expect((await apply()).exitCode).toBe(0);
  });

  test('an immutable release and an archived repository are warned of in the plan', async () => {
    server.state.releases[1] = { ...server.state.releases[1]!, immutable: true };
    server.archived = true;
    const { stdout } = await retireRelease(server, []);
    expect(stdout).toContain('the release is immutable');
    expect(stdout).toContain('the repository is archived');
  });

  test('a fine-grained token that may not delete: the 404 is told as no access', async () => {
    server.faults.set(6, { status: 404, message: 'Not Found' });
    const { exitCode, stderr } = await apply();
    expect(stderr).toContain('REGISTRY_PACKAGE_TOKEN may see it and not change it');
    expect(exitCode).toBe(39);
    expect(server.writes).toHaveLength(1);
  });

  test.each([
    [
      'the tag moves to another image',
      (): void => {
        broken().tags = [];
        server.state.versions[1]!.tags = ['proxy-1.2.0'];
      },
    ],
    ['the image loses its tag', (): void => void broken().tags.pop()],
    ['the image gets another tag', (): void => void broken().tags.push('latest')],
  ] as const)('%s while we work: it is not deleted', async (_what, change) => {
    server.onCall = (index) => void (index === 5 && change());
    const { exitCode, stderr } = await apply();
    expect(stderr).toContain('not what the plan said');
    expect(exitCode).toBe(98);
    expect(server.writes).toEqual([]);
  });

  test('the image loses its tag before it is looked for again: nothing is called done', async () => {
    server.onCall = (index) => void (index === 4 && broken().tags.pop());
    const { exitCode, stderr } = await apply();
    expect(stderr).toContain('version 105 carries no tag now');
    expect(exitCode).toBe(98);
    expect(server.writes).toEqual([]);
  });

  test('the release entry gets another Git tag while we work: it is not marked', async () => {
    server.onCall = (index) => {
      if (index === 8) server.state.releases[1] = { ...server.state.releases[1]!, tag: 'proxy-1.3.0' };
    };
    const { exitCode, stderr } = await apply();
    expect(stderr).toContain('has the Git tag proxy-1.3.0 now');
    expect(exitCode).toBe(98);
    expect(server.writes).toHaveLength(1);
    expect(server.state.releases[1]!.name).toBe('Proxy 1.2.0');
  });

  test('the Git tag moves while we work: it is not deleted', async () => {
    server.onCall = (index) => {
      if (index === 12) server.state.tags['proxy-1.2.0'] = '9'.repeat(40);
    };
    const { exitCode } = await apply();
    expect(exitCode).toBe(98);
    expect(server.state.tags['proxy-1.2.0']).toBe('9'.repeat(40));
  });

  test('a Git tag that is back before the end', async () => {
    server.onCall = (index) => {
      if (index === 18) server.state.tags['proxy-1.2.0'] = '2'.repeat(40);
    };
    const { exitCode, stderr } = await apply();
    expect(exitCode).toBe(55);
    expect(stderr).toContain('Git tag deleted');
  });

  test('the last version of a package', async () => {
    server.faults.set(6, { status: 400, message: 'You cannot delete the last version of a package.' });
    expect((await apply()).exitCode).toBe(94);
  });
});

describe('rate limits and failures', () => {
  const limited = (seconds: number) => ({
    status: 403,
    message: 'API rate limit exceeded for user ID 1.',
    headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Math.floor(Date.now() / 1000) + seconds) },
  });
  const secondary = {
    status: 429,
    message: 'You have exceeded a secondary rate limit.',
    headers: { 'retry-after': '30' },
  };

  test.each([0, 1, 2, 3, 7])('a primary limit at reading call %i is waited for, and said', async (call) => {
    server.faults.set(call, limited(120));
    const { exitCode, stderr, slept } = await apply();
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/the rate limit of REGISTRY_\w+ is reached: waiting 12[01] s, until 2026-11-21T10:02:0/);
    expect(Math.max(...slept)).toBeGreaterThanOrEqual(120);
  });

  test.each([6, 10, 13])('a secondary limit at write %i is waited for, then it is looked again', async (call) => {
    server.faults.set(call, secondary);
    const { exitCode, slept } = await apply();
    expect(exitCode).toBe(0);
    expect(slept).toContain(30);
    const { method, path } = server.calls[call]!;
    expect(method).not.toBe('GET');
    expect(server.calls.filter((each) => each.method === method && each.path === path)).toHaveLength(2);
    expect(server.calls[call + 1]!.method).toBe('GET');
  });

  test('a limit longer than --max-wait ends the run and says when to come back', async () => {
    server.faults.set(0, limited(1800));
    const { exitCode, stderr, slept } = await apply(['--max-wait', '10']);
    expect(stderr).toMatch(/try again in 180\d s/);
    expect(exitCode).toBe(74);
    expect(slept).toEqual([]);
  });

  test('server errors are tried again after 1, 4 and 9 seconds, then end the run', async () => {
    server.outage = { from: 0, fault: 'error-before' };
    const { exitCode, stderr, slept } = await apply();
    expect(slept).toEqual([1, 4, 9]);
    expect(stderr).toContain('answered 502');
    expect(exitCode).toBe(75);
    expect(server.calls).toHaveLength(4);
  });

  test('a network that is gone half-way is said, with what is done', async () => {
    server.outage = { from: 9, fault: 'reset-before' };
    const { exitCode, stdout, stderr } = await apply();
    expect(stdout).toContain('image: done');
    expect(stderr).toContain('no answer to');
    expect(exitCode).toBe(76);
  });

  test.each([
    ['a page that breaks off', 'cut' as const],
    ['a page of a portal', { status: 200, text: '<html>Welcome to the hotel</html>' }],
    ['a conflict in a listing', { status: 409, message: 'Conflict' }],
    ['a listing that is none', { status: 200, text: '{}' }],
    ['an empty reply', { status: 200, text: '' }],
  ])('%s is never read as the end of the list', async (_what, fault) => {
    for (const call of [0, 1, 2, 3]) server.faults.set(call, fault);
    const { exitCode } = await apply();
    expect([75, 76, 90]).toContain(exitCode);
    expect(server.writes).toEqual([]);
  });

  test('a link that leads to another host gets no token', async () => {
    server.maxPerPage = 2;
    const link = '<http://127.0.0.2:1/versions?page=2>; rel="next"';
    server.faults.set(0, { status: 200, text: '[]', headers: { link } });
    const { exitCode, stderr } = await apply();
    expect(stderr).toContain('which is not');
    expect(exitCode).toBe(90);
  });
});

test('every exit code is another one, of its class, and in the document', () => {
  const codes = Object.values(retirementExitCodes);
  expect(new Set(codes).size).toBe(codes.length);
  const document = readFileSync(new URL('../../../../docs/retire-release.md', import.meta.url), 'utf8');
  for (const [code, exitCode] of Object.entries(retirementExitCodes)) {
    expect(document).toContain(`| ${exitCode} | \`${code}\` |`);
  }
});
