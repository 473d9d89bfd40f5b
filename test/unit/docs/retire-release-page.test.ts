import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { initialState, packageToken, RegistryServer, repositoryToken } from '../../helpers/registry-server.ts';

const page = readFileSync(new URL('../../../docs/retire-release.md', import.meta.url), 'utf8');
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
    const [, block = ''] = /<!-- by hand -->\n```sh\n(.*?)```/s.exec(page) ?? [];
    // What is shown of an answer is for people.
    const script = block.replaceAll(/ \|\s+jq .*$/gm, '');
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
    const expected = initialState();
    expected.versions.splice(2, 1);
    Object.assign(expected.releases[1]!, { name: 'Proxy 1.2.0-verified-broken', draft: true });
    delete expected.tags['proxy-1.2.0'];
    expect(server.state).toEqual(expected);
  },
);
