import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { retirementCodes } from '../../../../lib/ops/retirement/errors.ts';
import { initialState, packageToken, RegistryServer, repositoryToken } from '../../../helpers/registry-server.ts';
import { retireRelease } from '../../../helpers/retirement-world.ts';

const page = readFileSync(new URL('../../../../docs/retire-release.md', import.meta.url), 'utf8');
/** Exit codes by name, as the page has them. */
const documented = new Map(
  [...page.matchAll(/^\| (\d) \| (.+) \|$/gm)].flatMap(([, exitCode, codes = '']) =>
    [...codes.matchAll(/\w+/g)].map(([code]): [string, number] => [code, Number(exitCode)]),
  ),
);
/** The name by which a run with `--json` ended. */
const codeOf = (stderr: string) => JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error.code;

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
  code: string,
  message: string,
  prepare: () => void,
  argv?: string[] | undefined,
  named?: Record<string, string> | undefined,
];

describe('refused before anything is changed', () => {
  const none = () => {};
  test.each([
    [
      'the replacement is the version',
      'replacement_equal',
      'is the broken version itself',
      none,
      [],
      { replacement: '1.2.0' },
    ],
    [
      'a Git tag of another version',
      'tag_mismatch',
      'is none of proxy-1.2.0, proxy-v1.2.0',
      none,
      ['--tag', 'proxy-1.2.1'],
    ],
    [
      'a Git tag with more before the version',
      'tag_mismatch',
      'is none of proxy-1.2.0, proxy-v1.2.0',
      none,
      ['--tag', 'proxy-11.2.0'],
    ],
    ['no such package', 'package_not_found', 'no container package proxi', none, [], { package: 'proxi' }],
    ['no such repository', 'repository_not_found', 'no repository archiv', none, [], { repository: 'archiv' }],
    [
      'nothing of that version',
      'version_not_found',
      'nothing of proxy-9.9.9',
      none,
      ['--no-release'],
      { version: '9.9.9' },
    ],
    ['no release entry', 'release_not_found', '--no-release', () => void server.state.releases.splice(1, 1)],
    [
      'no such replacement',
      'replacement_missing',
      'proxy-1.3.0 is not in the package',
      none,
      [],
      { replacement: '1.3.0' },
    ],
    [
      'an unknown package token',
      'token_refused',
      'REGISTRY_PACKAGE_TOKEN: Bad credentials',
      () => void server.tokens.delete(packageToken),
    ],
    [
      'a package token that may only read',
      'scope_missing',
      'REGISTRY_PACKAGE_TOKEN lacks the scope delete:packages (it has: read:packages)',
      () => void server.tokens.set(packageToken, { scopes: ['read:packages'], push: false }),
    ],
    [
      'the package token in the place of the repository token',
      'scope_missing',
      'REGISTRY_REPO_TOKEN lacks the scope repo (it has: delete:packages)',
      () => void server.tokens.set(repositoryToken, { scopes: ['delete:packages'], push: true }),
    ],
    [
      'a token without single sign-on',
      'access_denied',
      'single sign-on first: https://platform.example.org/sso',
      () =>
        void server.faults.set(0, {
          status: 403,
          headers: { 'x-github-sso': 'required; url=https://platform.example.org/sso' },
        }),
    ],
    [
      'two versions with the tag',
      'ambiguous_version',
      '2 versions carry the tag proxy-1.2.0: 106',
      () => void server.state.versions[1]!.tags.push('proxy-1.2.0'),
    ],
    [
      'other tags',
      'other_tags',
      'version 105 carries also auth-1.0.0, latest; --also-remove-tags must have exactly these',
      () => void broken().tags.push('latest', 'auth-1.0.0'),
    ],
    ['more tags said than there are', 'other_tags', 'carries no other tag', none, ['--also-remove-tags', 'latest']],
    [
      'the replacement is a tag of the broken image',
      'replacement_equal',
      'a tag of the broken image itself',
      () => {
        broken().tags.push('proxy-1.2.1');
        server.state.versions[0]!.tags = ['latest'];
      },
      ['--also-remove-tags', 'proxy-1.2.1'],
    ],
    [
      'two release entries',
      'ambiguous_release',
      '2 release entries',
      () => void server.state.releases.push({ id: 12, tag: 'proxy-1.2.0', name: 'Draft', draft: true }),
    ],
    [
      'a replacement that is broken itself',
      'replacement_broken',
      'the release of 1.2.1 is marked as broken itself',
      () => {
        server.state.releases[0]!.name = 'Proxy 1.2.1-verified-broken';
      },
    ],
    [
      'a repository that has moved',
      'moved',
      'leads to https://platform.example.org/repositories/7',
      () =>
        void server.faults.set(1, {
          status: 301,
          headers: { location: 'https://platform.example.org/repositories/7' },
        }),
    ],
  ] satisfies Case[])('%s', async (...row) => {
    const [_what, code, message, prepare, argv = [], named = {}] = row as Case;
    prepare();
    const before = structuredClone(server.state);
    const run = await apply([...argv, '--json'], { named });
    expect(run.stderr).toContain(message);
    expect([codeOf(run.stderr), run.exitCode]).toEqual([code, documented.get(code)]);
    expect(server.writes).toEqual([]);
    expect(server.state).toEqual(before);
  });

  test.each([
    ['org', '..'],
    ['org', 'a/b'],
    ['repository', '..'],
    ['package', '../proxy'],
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

  test.each(['../heads/main', 'a/../../heads/1.2.0', '.1.2.0', 'x.lock', 'a@{1.2.0', '-1.2.0'])(
    '--tag %j is not a name of a Git tag',
    async (tag) => {
      const { exitCode } = await apply([`--tag=${tag}`]);
      expect(exitCode).toBe(2);
      expect(server.calls).toEqual([]);
    },
  );
});

describe('refused by the platform at a step: the steps after it do not run', () => {
  test.each([
    ['too_many_downloads', 'Publicly visible package versions with more than 5000 downloads cannot be deleted.'],
    ['last_version', 'You cannot delete the last version of a package.'],
  ])('%s', async (code, message) => {
    server.faults.set(5, { status: 400, message });
    const { exitCode, stderr } = await apply(['--json']);
    expect(stderr).toContain(message);
    expect([codeOf(stderr), exitCode]).toEqual([code, 9]);
    expect(server.writes).toHaveLength(1);
    expect(server.state.tags).toEqual(initialState().tags);
  });

  test('a Git tag that is protected, after image and release', async () => {
    server.protectedTags.add('proxy-1.2.0');
    const { exitCode, stderr } = await apply(['--json']);
    expect(stderr).toContain('Cannot delete this tag');
    expect(stderr).toContain('the same command resumes after them');
    expect([codeOf(stderr), exitCode]).toEqual(['tag_protected', 9]);
    expect(server.writes).toHaveLength(3);
    server.protectedTags.clear();
    expect((await apply()).exitCode).toBe(0);
  });

  test('a fine-grained token that may not delete: the 404 is told as no access', async () => {
    server.faults.set(5, { status: 404, message: 'Not Found' });
    const { exitCode, stderr } = await apply();
    expect(stderr).toContain('REGISTRY_PACKAGE_TOKEN may see it and not change it');
    expect(exitCode).toBe(3);
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
    server.onCall = (index) => void (index === 4 && change());
    const { exitCode, stderr } = await apply();
    expect(stderr).toContain('not what the plan said');
    expect(exitCode).toBe(9);
    expect(server.writes).toEqual([]);
  });

  test('the release entry gets another Git tag while we work: it is not marked', async () => {
    server.onCall = (index) => {
      if (index === 7) server.state.releases[1] = { ...server.state.releases[1]!, tag: 'proxy-1.3.0' };
    };
    const { exitCode, stderr } = await apply();
    expect(stderr).toContain('has the Git tag proxy-1.3.0 now');
    expect(exitCode).toBe(9);
    expect(server.writes).toHaveLength(1);
    expect(server.state.releases[1]!.name).toBe('Proxy 1.2.0');
  });

  test('the Git tag moves while we work: it is not deleted', async () => {
    server.onCall = (index) => {
      if (index === 11) server.state.tags['proxy-1.2.0'] = '9'.repeat(40);
    };
    const { exitCode } = await apply();
    expect(exitCode).toBe(9);
    expect(server.state.tags['proxy-1.2.0']).toBe('9'.repeat(40));
  });

  test('a Git tag that is back before the end', async () => {
    server.onCall = (index) => {
      if (index === 16) server.state.tags['proxy-1.2.0'] = '2'.repeat(40);
    };
    const { exitCode, stderr } = await apply();
    expect(exitCode).toBe(5);
    expect(stderr).toContain('Git tag deleted');
  });
});

describe('rate limits and failures', () => {
  test.each([
    ['primary', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1795255200' }, 'at 2026-11-21T10:00:00.000Z'],
    ['secondary', { 'retry-after': '30' }, 'in 30 s'],
  ])('a %s rate limit ends the run and says when to come back', async (_kind, headers, when) => {
    server.faults.set(9, { status: 403, headers });
    const { exitCode, stderr } = await apply(['--json']);
    expect(stderr).toContain(`the rate limit of REGISTRY_REPO_TOKEN is reached; try again ${when}`);
    expect([codeOf(stderr), exitCode]).toEqual(['rate_limited', 7]);
    expect((await apply()).exitCode).toBe(0);
  });

  test('server errors are tried again after 1, 4 and 9 seconds, then end the run', async () => {
    server.outage = { from: 0, fault: 'error-before' };
    const { exitCode, stderr, slept } = await apply();
    expect(slept).toEqual([1, 4, 9]);
    expect(stderr).toContain('answered 502');
    expect(exitCode).toBe(7);
    expect(server.calls).toHaveLength(4);
  });

  test('a network that is gone half-way is said, with what is done', async () => {
    server.outage = { from: 8, fault: 'reset-before' };
    const { exitCode, stdout, stderr } = await apply();
    expect(stdout).toContain('image: done');
    expect(stderr).toContain('no answer to');
    expect(exitCode).toBe(7);
  });

  test.each([
    ['a page that breaks off', 'cut' as const],
    ['a page of a portal', { status: 200, text: '<html>Welcome to the hotel</html>' }],
    ['a listing that is none', { status: 200, text: '{}' }],
  ])('%s is never read as the end of the list', async (_what, fault) => {
    for (const call of [0, 1, 2, 3]) server.faults.set(call, fault);
    const { exitCode } = await apply();
    expect([7, 9]).toContain(exitCode);
    expect(server.writes).toEqual([]);
  });

  const version = { id: 105, name: 'sha256:5', created_at: '2026-11-20T22:19:11Z' };
  const tagged = { metadata: { package_type: 'container', container: { tags: ['proxy-1.2.0'] } } };
  const release = { id: 10, tag_name: 'proxy-1.2.0', name: null, draft: false, html_url: 'https://x.example' };
  const reference = { ref: 'refs/tags/proxy-1.2.0', object: { sha: '2' } };
  test.each([
    ['a version without its time', 0, [{ ...version, ...tagged, created_at: undefined }], 'created_at is missing'],
    ['a version without its kind', 0, [version], 'metadata is missing'],
    [
      'a version without its tags',
      0,
      [{ ...version, metadata: { container: {} } }],
      'metadata.container.tags is missing',
    ],
    ['two such releases', 1, Array(2).fill({ ...release, draft: undefined }), 'documents: draft is missing; check'],
    [
      'a release of another form',
      1,
      [{ ...release, id: '10', html_url: undefined }],
      'id is of another form, html_url is',
    ],
    ['a Git tag without its commit', 2, { ...reference, object: {} }, 'object.sha is missing'],
    ['a listing that is none', 0, { message: 'Welcome' }, 'the whole body is of another form'],
  ])('%s ends the run at once, and the field is named', async (_what, call, body, named) => {
    server.faults.set(call, { status: 200, text: JSON.stringify(body) });
    const { exitCode, stderr, slept } = await apply(['--json']);
    expect([codeOf(stderr), exitCode, slept]).toEqual(['unexpected_answer', 9, []]);
    expect(stderr).toContain(named);
    expect(server.writes).toEqual([]);
  });

  test('a link that leads to another host gets no token', async () => {
    server.maxPerPage = 2;
    const link = '<http://127.0.0.2:1/versions?page=2>; rel="next"';
    server.faults.set(0, { status: 200, text: '[]', headers: { link } });
    const { exitCode, stderr } = await apply();
    expect(stderr).toContain('which is not');
    expect(exitCode).toBe(9);
  });
});

test('the page has every reason', () => {
  expect([...documented.keys()].sort()).toEqual(Object.values(retirementCodes).flat().sort());
});
