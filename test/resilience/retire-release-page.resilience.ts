import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { blocksOf } from '../helpers/pages.ts';
import { initialState, packageToken, RegistryServer, repositoryToken } from '../helpers/registry-server.ts';

/** The commands of docs/retire-release.md under a heading. */
function commandsOf(heading: string): string {
  const found = blocksOf('docs/retire-release.md').find(
    ({ section, language }) => section === heading && language === 'sh',
  );
  if (found === undefined) throw new Error(`docs/retire-release.md has no commands under ${heading}`);
  return found.text;
}

let server: RegistryServer;
beforeAll(async () => {
  server = await RegistryServer.start();
});
afterAll(() => server.stop());

const tokens = { REGISTRY_PACKAGE_TOKEN: packageToken, REGISTRY_REPO_TOKEN: repositoryToken };

test.each(['variables', 'files'])(
  'the commands of "by hand" do what the tool does, with tokens in %s',
  async (where) => {
    server.reset();
    const folder = await mkdtemp(join(tmpdir(), 'by-hand-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const files: Record<string, string> = {};
    for (const [name, token] of Object.entries(tokens)) {
      files[`${name}_FILE`] = join(folder, name);
      await writeFile(join(folder, name), `${token}\n`);
    }
    // What is shown of an answer is for people.
    const script = commandsOf('By hand, with curl').replaceAll(/ \|\s+jq .*$/gm, '');
    const env = {
      ...process.env,
      REGISTRY_API_URL: server.url,
      ...(where === 'files' ? files : tokens),
    };
    const { stdout } = await promisify(execFile)('bash', ['-euc', script], { env });
    expect(stdout).toMatch(/^404$/m);
    expect(server.violations).toEqual([]);
    expect(server.writes).toEqual([
      'DELETE /orgs/acme/packages/container/proxy/versions/105',
      'PATCH /repos/acme/archive/releases/10',
      'DELETE /repos/acme/archive/git/refs/tags/proxy-1.2.0',
    ]);
    expectRetired();
  },
);

test('the commands of the page plan and apply a retirement with the tool', async () => {
  server.reset();
  const folder = await mkdtemp(join(tmpdir(), 'retire-page-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, '.secrets'));
  await writeFile(join(folder, '.secrets/package-token'), packageToken);
  await writeFile(join(folder, '.secrets/repo-token'), repositoryToken);
  // A person types the image tag; a test says --yes.
  const script = `
npx() { shift; node "$TOOL" "$@" $ANSWER; }
${commandsOf('Before').replace('https://api.example.org', server.url)}
${commandsOf('Plan')}
ANSWER=--yes
${commandsOf('Apply')}`;
  const env = {
    ...process.env,
    HOME: folder,
    TOOL: join(import.meta.dirname, '../../bin/data-out-ops.ts'),
    ANSWER: '',
  };
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    env,
    cwd: folder,
  });
  expect(stdout).toContain('Nothing was changed');
  expectRetired();
  expect(JSON.parse(await readFile(join(folder, 'retirement.jsonl'), 'utf8'))).toMatchObject({
    steps: expect.anything(),
    announcement: expect.stringContaining('1.2.1'),
  });
});

/** The image, the title and the Git tag of the page's release are changed, and nothing else. */
function expectRetired(): void {
  const expected = initialState();
  expected.versions.splice(2, 1);
  Object.assign(expected.releases[1]!, { name: 'Proxy 1.2.0-verified-broken', draft: true });
  delete expected.tags['proxy-1.2.0'];
  expect(server.state).toEqual(expected);
}
