import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { InterruptedError } from '../../../../lib/terminal/errors.ts';
import { initialState, packageToken, RegistryServer, repositoryToken } from '../../../helpers/registry-server.ts';
import { names, retired, retireRelease } from '../../../helpers/retirement-world.ts';

const deletion = 'DELETE /orgs/acme/packages/container/proxy/versions/105';
const marking = 'PATCH /repos/acme/archive/releases/10';
const tagDeletion = 'DELETE /repos/acme/archive/git/refs/tags/proxy-1.2.0';

let folder: string;
let server: RegistryServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-retire-'));
  server = await RegistryServer.start();
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});
beforeEach(() => server.reset());
afterEach(() => expect(server.violations).toEqual([]));

const run = (argv: string[] = [], choices: Parameters<typeof retireRelease>[2] = {}) =>
  retireRelease(server, argv, { folder, ...choices });
const apply = (argv: string[] = [], choices: Parameters<typeof retireRelease>[2] = {}) =>
  run(['--apply', '--yes', ...argv], choices);
const version = (id: number) => server.state.versions.find((each) => each.id === id)!;

const expectRetired = () => expect(server.state).toEqual(retired());

describe('the plan', () => {
  test('says what would happen at each step, and changes nothing', async () => {
    const { exitCode, stdout, stderr } = await run();
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`delete version 105 (sha256:${'5'.repeat(64)}), tag proxy-1.2.0`);
    expect(stdout).toContain('change the title from "Proxy 1.2.0" to "Proxy 1.2.0-verified-broken"');
    expect(stdout).toContain(`delete refs/tags/proxy-1.2.0, which is at ${'2'.repeat(40)}`);
    expect(stdout).toContain('use instead proxy-1.2.1, version 107');
    expect(stdout).toContain('Nothing was changed. Add --apply');
    expect(stderr).toBe('');
    expect(server.writes).toEqual([]);
    expect(server.state).toEqual(initialState());
  });

  test('each call carries the token with its scope', async () => {
    await apply();
    for (const { path, token } of server.calls) {
      expect([path, token]).toEqual([path, path.startsWith('/orgs/') ? packageToken : repositoryToken]);
    }
  });
});

describe('--apply', () => {
  test('removes the image, marks the release, deletes the Git tag, in this order and nothing else', async () => {
    const { exitCode, stdout } = await apply();
    expect(exitCode).toBe(0);
    expect(server.writes).toEqual([deletion, marking, tagDeletion]);
    expectRetired();
    expect(stdout).toContain('[x] image version deleted');
    expect(stdout).toContain('[x] release marked: its title reads "Proxy 1.2.0-verified-broken"');
    expect(stdout).toContain('[x] Git tag deleted');
    expect(stdout).toContain('[ ] team told to avoid 1.2.0 and use 1.2.1');
  });

  test('a second run finds all of it done, writes nothing, and can tick the last point', async () => {
    await apply();
    server.calls.length = 0;
    const { exitCode, stdout } = await apply(['--team-told']);
    expect(exitCode).toBe(0);
    expect(server.writes).toEqual([]);
    expect(stdout).toContain('[x] team told');
    expectRetired();
  });

  test('the deletion is believed when the listing no longer has the tag', async () => {
    server.lag = 2;
    const { exitCode, slept } = await apply();
    expect(exitCode).toBe(0);
    expect(slept).toEqual([1, 2]);
    expect(server.writes).toEqual([deletion, marking, tagDeletion]);
    server.reset();
    server.lag = 99;
    const unproven = await apply();
    expect(unproven.exitCode).toBe(5);
    expect(unproven.stderr).toContain('proxy-1.2.0 is still listed');
    expect(server.writes).toEqual([deletion]);
  });

  /** Change the versions as another operator would, between the first two pages of a listing, from 1. */
  function betweenPages(listing: number, change: () => void): void {
    let seen = 0;
    server.onCall = (_index, _method, path) => {
      if (path.endsWith('/versions?per_page=100&page=2') && ++seen === listing) change();
    };
  }

  test('an image that slips between two pages, because another was deleted, is removed before anything else', async () => {
    server.maxPerPage = 2;
    betweenPages(2, () => void server.state.versions.splice(1, 1));
    const { exitCode } = await apply();
    expect(exitCode).toBe(0);
    expect(server.writes).toEqual([deletion, marking, tagDeletion]);
  });

  test.each([
    ['v1.2.0', 'does not name the component'],
    ['proxy/v1.2.0', undefined],
    ['proxy@1.2.0', undefined],
  ])('--tag %s', async (tag, warning) => {
    server.state.tags = { ...server.state.tags, [tag]: '4'.repeat(40) };
    server.state.releases.push({ id: 12, tag, name: 'By tag', draft: false });
    const { exitCode, stdout } = await apply(['--tag', tag]);
    expect(exitCode).toBe(0);
    expect(server.writes.at(-1)).toBe(`DELETE /repos/acme/archive/git/refs/tags/${tag.replace('@', '%40')}`);
    expect(server.state.tags).toEqual(initialState().tags);
    expect(stdout.includes('does not name the component')).toBe(warning !== undefined);
  });

  test('other tags vanish only when exactly these are said', async () => {
    version(105).tags.push('stable', 'auth-3.0.0');
    const { exitCode, stdout } = await apply(['--also-remove-tags', 'stable, auth-3.0.0']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('warning: pulls of stable fail until it is pushed again');
    expectRetired();
  });
});

describe('confirmation', () => {
  const person = (...answers: string[]) => {
    const asked: string[] = [];
    const askShown = async (question: string) => {
      asked.push(question);
      return answers.shift() ?? '';
    };
    return { askShown, asked };
  };

  test('a person types the component and the version', async () => {
    const { askShown, asked } = person('proxy-1.2.0');
    expect((await run(['--apply'], { askShown })).exitCode).toBe(0);
    expect(asked).toEqual(['To retire proxy 1.2.0 for good, type proxy-1.2.0: ']);
    expectRetired();
  });

  test.each(['', 'y', 'yes', 'proxy-1.2', 'proxy-1.2.1', 'PROXY-1.2.0'])('%j is not a yes', async (typed) => {
    const { exitCode, stderr } = await run(['--apply'], { askShown: person(typed).askShown });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('nothing was changed');
    expect(server.state).toEqual(initialState());
  });

  test('without a person to ask, --yes is needed', async () => {
    const { exitCode, stderr } = await run(['--apply']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--yes');
    expect(server.writes).toEqual([]);
  });

  test('a token that may not write titles: the run says what to do by hand, and the next one looks', async () => {
    server.tokens.set(repositoryToken, { scopes: ['repo'], push: true, noTitles: true });
    const stopped = await apply();
    expect(stopped.exitCode).toBe(5);
    expect(stopped.stderr).toContain('1. Open https://platform.example.org/acme/archive/releases/tag/proxy-1.2.0');
    expect(stopped.stderr).toContain('from "Proxy 1.2.0" to "Proxy 1.2.0-verified-broken"');
    expect((await apply()).exitCode).toBe(5);
    expect(server.state.tags['proxy-1.2.0']).toBeDefined();
    server.state.releases[1]!.name = 'Proxy 1.2.0-verified-broken';
    expect((await apply()).exitCode).toBe(0);
    expectRetired();
  });
});

describe('--json', () => {
  test('is one object with the plan, the steps, the checklist and every call', async () => {
    const { stdout, stderr } = await apply(['--json', '--team-told']);
    expect(stdout.trim().split('\n')).toHaveLength(1);
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({
      status: 'complete',
      ...names,
      plan: { image: { id: 105, digest: `sha256:${'5'.repeat(64)}` }, gitTag: { sha: '2'.repeat(40) }, obstacles: [] },
      steps: [
        { step: 'image', outcome: 'done' },
        { step: 'release', outcome: 'done' },
        { step: 'git_tag', outcome: 'done' },
      ],
    });
    expect(report.checklist.map((each: { done: boolean }) => each.done)).toEqual([true, true, true, true]);
    expect(report.calls).toHaveLength(server.calls.length);
    expect(report.calls[5]).toEqual({
      at: expect.stringMatching(/^2026-11-21T10:00:0/),
      method: 'DELETE',
      path: '/api/v3/orgs/acme/packages/container/proxy/versions/105',
      token: 'REGISTRY_PACKAGE_TOKEN',
      status: 204,
      requestId: 'A1B2:000005',
    });
    expect(stdout + stderr).not.toContain(packageToken);
    expect(stdout + stderr).not.toContain(repositoryToken);
  });
});

describe('tokens', () => {
  test('are not an option, and are not repeated when the platform repeats them', async () => {
    expect((await run(['--token', packageToken])).exitCode).toBe(2);
    server.faults.set(0, { status: 403, message: `no ${packageToken}` });
    const { stdout, stderr } = await run(['--json']);
    expect(stderr).toContain('no ***');
    expect(stdout + stderr).not.toContain(packageToken);
  });
});

test('an interrupt ends with 130, before the next call', async () => {
  const interrupted = new AbortController();
  server.onCall = (index) => {
    if (index === 8) interrupted.abort(new InterruptedError());
  };
  const { exitCode, stderr } = await apply([], { signal: interrupted.signal });
  expect(exitCode).toBe(130);
  expect(stderr).toContain('the same command resumes after them');
  expect(server.writes).toEqual([deletion]);
  server.onCall = undefined;
  expect((await apply()).exitCode).toBe(0);
  expectRetired();
});
