import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { defaultsContext } from '../../lib/contract/synth.ts';

const root = join(import.meta.dirname, '../..');
const outdir = mkdtempSync(join(tmpdir(), 'data-out-unbundled-'));
afterAll(() => rmSync(outdir, { recursive: true }));

/** What `cdk deploy --app FOLDER` would upload, by the names that the CDK shows. */
function uploads(folder: string): [string, string, string][] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.assets.json'))
    .flatMap((name) => {
      const { files } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as {
        files: Record<string, { displayName: string; source: { path: string; packaging: string } }>;
      };
      return Object.values(files).map(({ displayName, source }): [string, string, string] => [
        displayName,
        resolve(folder, source.path),
        source.packaging,
      ]);
    });
}

test('what cdk bootstrap leaves cannot be deployed: its functions would be the whole checkout', () => {
  const { context } = JSON.parse(readFileSync(join(root, 'cdk.json'), 'utf8'));
  const CDK_CONTEXT_JSON = JSON.stringify({ ...context, [defaultsContext]: 'true', 'aws:cdk:bundling-stacks': [] });
  const env = { ...process.env, CDK_CONTEXT_JSON, CDK_OUTDIR: outdir };
  const { status, stderr } = spawnSync(process.execPath, ['bin/app.ts'], { cwd: root, encoding: 'utf8', env });
  expect(status, stderr).toBe(0);
  const functions = uploads(outdir).filter(([name]) => /^Functions\//.test(name));
  expect(functions.length).toBeGreaterThan(15);
  for (const [name, path, packaging] of functions) {
    // Of a folder that is missing the CDK would make an empty archive; of a file it says that there is none, by its name.
    expect([name, existsSync(path), packaging]).toEqual([name, false, 'file']);
    expect(path).toMatch(/no-bundles-because-cdk-bootstrap-or-list-made-this-assembly-give-cdk-deploy-without---app$/);
  }
  expect(uploads(outdir).filter(([, path]) => root.startsWith(path))).toEqual([]);
});
