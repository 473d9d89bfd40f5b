import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { operatorSettings } from '../../bin/operator-settings.ts';
import { settings as defaults } from '../../bin/settings.ts';
import { trustedIssuersContext } from '../../lib/contract/synth.ts';
import { addFiles } from '../../lib/infra/functions/bundling.ts';
import { addStacks } from '../../lib/infra/stacks.ts';
import { templateApp } from '../../lib/infra/templates.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'data-out-settings-')));
  mkdirSync(join(root, 'private'));
});
afterEach(() => rmSync(root, { recursive: true }));
const write = (name: string, text: string) => writeFileSync(join(root, 'private', name), text);

test('without the files the defaults hold, and what is missing is named', async () => {
  expect(await operatorSettings(root)).toEqual({
    settings: defaults,
    trustedIssuers: 'config/trusted-issuers.json',
    missing: ['private/settings.ts', 'private/trusted-issuers.json'],
  });
});

test('a field of the file replaces the default as a whole; the others stay', async () => {
  write('settings.ts', "export const settings = { stage: 'prod', database: { clusterArn: 'arn' } };\n");
  write('trusted-issuers.json', '[]');
  expect(await operatorSettings(root)).toEqual({
    settings: { ...defaults, stage: 'prod', database: { clusterArn: 'arn' } },
    trustedIssuers: 'private/trusted-issuers.json',
    missing: [],
  });
});

test("the operator's trust list is bundled with a function that verifies visas", () => {
  const app = templateApp();
  const { service } = addStacks(app, defaults, 'private/trusted-issuers.json');
  expect(service.node.tryGetContext(trustedIssuersContext)).toBe('private/trusted-issuers.json');
  write('trusted-issuers.json', '[{}]');
  addFiles({ outdir: root, trustedIssuers: 'private/trusted-issuers.json' }, join(root, 'out'), root);
  expect(readFileSync(join(root, 'out/config/trusted-issuers.json'), 'utf8')).toBe('[{}]');
});

test.each([
  ['a syntax error', 'export const settings = {\n  stage: ;\n};\n', /^private\/settings\.ts:2: Expression expected$/],
  [
    'an unknown name',
    'export const settings = {\n  stage: prod,\n};\n',
    /^private\/settings\.ts:2: prod is not defined$/,
  ],
  ['no settings', 'export const setings = {};\n', /^private\/settings\.ts: expected an export const settings/],
])('%s is told in one line', (_what, text, message) => {
  write('settings.ts', text);
  // In its own process: here, the test runner loads modules.
  const module = JSON.stringify(join(import.meta.dirname, '../../bin/operator-settings.ts'));
  const script = `import(${module}).then((own) => own.operatorSettings(process.argv[1])).catch((error) => console.log(error.message))`;
  const { stdout } = spawnSync(process.execPath, ['-e', script, root], { encoding: 'utf8' });
  expect(stdout.trimEnd()).toMatch(message);
});
