import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
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
  code: string,
  message: string,
  prepare?: (() => void) | undefined,
  argv?: string[] | undefined,
  named?: Record<string, string>,
];
const state = () => server.state;
const tokens = () => server.tokens;
const faults = () => server.faults;
const sso = { status: 403, headers: { 'x-github-sso': 'required; url=https://platform.example.org/sso' } };
const elsewhere = { status: 301, headers: { location: 'https://platform.example.org/repositories/7' } };
const none = undefined;
const moveReplacement = () => {
  broken().tags.push('proxy-1.2.1');
  state().versions[0]!.tags = ['latest'];
};
const markBroken = (at: number) => {
  state().releases[at]!.name += '-verified-broken';
};
const scopes = (token: string, ...held: string[]) => void tokens().set(token, { scopes: held, push: false });

describe('refused before anything is changed', () => {
  test.each([
    ['replacement_equal', 'is the broken version itself', none, [], { replacement: '1.2.0' }],
    ['tag_mismatch', 'is none of proxy-1.2.0, proxy-v1.2.0', none, ['--tag', 'proxy-1.2.1']],
    ['tag_mismatch', 'is none of proxy-1.2.0, proxy-v1.2.0', none, ['--tag', 'proxy-11.2.0']],
    ['package_not_found', 'no container package proxi', none, [], { package: 'proxi' }],
    ['repository_not_found', 'no repository archiv', none, [], { repository: 'archiv' }],
    ['version_not_found', 'nothing of proxy-9.9.9', none, ['--no-release'], { version: '9.9.9' }],
    ['release_not_found', '--no-release', () => void state().releases.splice(1, 1)],
    ['replacement_missing', 'proxy-1.3.0 is not in the package', none, [], { replacement: '1.3.0' }],
    ['token_refused', 'PACKAGE_TOKEN: Bad credentials', () => void tokens().delete(packageToken)],
    ['scope_missing', 'PACKAGE_TOKEN lacks the scope delete:packages', () => scopes(packageToken, 'read:packages')],
    ['scope_missing', 'REPO_TOKEN lacks the scope repo (it has: x)', () => scopes(repositoryToken, 'x')],
    ['access_denied', 'first: https://platform.example.org/sso', () => void faults().set(0, sso)],
    ['ambiguous_version', '2 versions carry the tag', () => void state().versions[1]!.tags.push('proxy-1.2.0')],
    ['other_tags', '105 carries also auth-1.0.0, latest', () => void broken().tags.push('latest', 'auth-1.0.0')],
    ['other_tags', 'carries no other tag', none, ['--also-remove-tags', 'latest']],
    ['replacement_equal', 'a tag of the broken image', moveReplacement, ['--also-remove-tags', 'proxy-1.2.1']],
    [
      'ambiguous_release',
      '2 release entries',
      () => void state().releases.push({ id: 12, tag: 'proxy-1.2.0', name: 'Draft', draft: true }),
    ],
    ['replacement_broken', 'the release of 1.2.1 is', () => markBroken(0)],
    ['moved', 'leads to https://platform.example.org/repositories/7', () => void faults().set(1, elsewhere)],
  ] satisfies Case[])('%s: %s', async (...row) => {
    const [code, message, prepare, argv = [], named = {}] = row as Case;
    prepare?.();
    const before = structuredClone(server.state);
    const run = await apply([...argv, '--json'], { named });
    expect(run.stderr).toContain(message);
    expect([codeOf(run.stderr), run.exitCode]).toEqual([code, documented.get(code)]);
    expect(server.writes).toEqual([]);
    expect(server.state).toEqual(before);
  });

  // Each would lead to another address.
  test.each([
    ['org', '..'],
    ['repository', '..'],
    ['package', '../proxy'],
    ['version', '1.2.0/../..'],
    ['replacement', '1.2.1?'],
    ['tag', '../heads/main'],
    ['tag', 'a/../../heads/1.2.0'],
  ])('--%s %j is not a name', async (name, value) => {
    const { exitCode, stderr } = await apply([], { named: { [name]: value } });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`--${name}`);
    expect(server.calls).toEqual([]);
  });
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

  /** Before a call, something else changes what the plan was made of; so many writes were sent by then. */
  test.each<[string, number, number, () => void]>([
    ['the tag moves to another image', 4, 0, () => state().versions[1]!.tags.push(...broken().tags.splice(0))],
    ['the image loses its tag', 4, 0, () => broken().tags.pop()],
    ['the image gets another tag', 4, 0, () => broken().tags.push('latest')],
    ['the release entry gets another Git tag', 7, 1, () => Object.assign(state().releases[1]!, { tag: 'proxy-1.3.0' })],
    ['the Git tag moves', 11, 2, () => Object.assign(state().tags, { 'proxy-1.2.0': '9'.repeat(40) })],
  ])('%s while we work: nothing more is written', async (_what, call, writes, change) => {
    server.onCall = (index) => void (index === call && change());
    const { exitCode, stderr } = await apply();
    expect(stderr).toContain('not what the plan said');
    expect(exitCode).toBe(9);
    expect(server.writes).toHaveLength(writes);
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

  test('a link that leads to another host gets no token', async () => {
    server.maxPerPage = 2;
    const link = '<http://127.0.0.2:1/versions?page=2>; rel="next"';
    server.faults.set(0, { status: 200, text: '[]', headers: { link } });
    const { exitCode, stderr } = await apply();
    expect(stderr).toContain('which is not');
    expect(exitCode).toBe(9);
  });
});
