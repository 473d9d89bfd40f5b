import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../..');
const output = join(root, 'cdk.out');
const stamp = join(output, 'inputs.sha256');
const lock = join(root, 'node_modules', '.data-out-synth-lock');
/** A synth takes seconds: a lock this old was left by a process that died. */
const lockLifeMs = 180_000;

/** Parts of `lib` that neither a function nor the stacks may import (`test/infra/imports.test.ts`). */
const elsewhere = ['cli', 'client', 'demo', 'local', 'ops', 'releases', 'terminal'];
const inputs = [
  ...['bin/app.ts', 'bin/openapi.ts', 'bin/settings.ts', 'lambdas', 'config', 'docs/openapi'],
  ...['cdk.json', 'package.json', 'package-lock.json'],
  ...readdirSync(join(root, 'lib'))
    .filter((name) => !elsewhere.includes(name))
    .map((name) => join('lib', name)),
];
const results = ['manifest.json', 'DataOutStorage.template.json', 'DataOutService.template.json'];

/**
 * Folder of the synthesized cloud assembly of this source tree, as `cdk deploy` would ship it. Test files run in several
 * processes: the first one synthesizes, the others wait and use the same folder; nothing is done while the assembly
 * still fits the sources.
 */
export async function assembly(): Promise<string> {
  await acquire();
  try {
    const wanted = digest(inputs);
    if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== `${wanted} ${digest(results, output)}`) {
      await synthesize();
      writeFileSync(stamp, `${wanted} ${digest(results, output)}`);
    }
    return output;
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

/** A template of the assembly. */
export async function template(stack: 'DataOutStorage' | 'DataOutService'): Promise<Record<string, unknown>> {
  return JSON.parse(readFileSync(join(await assembly(), `${stack}.template.json`), 'utf8'));
}

async function synthesize(): Promise<void> {
  const cdk = join(root, 'node_modules/aws-cdk/bin/cdk');
  const flags = ['synth', '--quiet', '--no-notices', '--no-version-reporting'];
  // `cdk.json` starts `node`: the pinned one, also when the tests were not started by npm.
  const searchPath = [join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter);
  await promisify(execFile)(process.execPath, [cdk, ...flags], {
    cwd: root,
    env: { ...process.env, PATH: searchPath },
  });
}

async function acquire(): Promise<void> {
  for (;;) {
    try {
      mkdirSync(lock);
      return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > lockLifeMs) rmSync(lock, { recursive: true, force: true });
    else await sleep(200);
  }
}

/** SHA-256 over names and contents of files and folders; a missing one changes the hash, too. */
function digest(paths: readonly string[], base = root): string {
  const hash = createHash('sha256');
  const add = (path: string) => {
    const stat = statSync(join(base, path), { throwIfNoEntry: false });
    hash.update(`${path}\0${stat?.isFile() ? stat.size : ''}\0`);
    if (stat?.isFile()) hash.update(readFileSync(join(base, path)));
    if (stat?.isDirectory()) for (const name of readdirSync(join(base, path)).sort()) add(join(path, name));
  };
  for (const path of paths) add(path);
  return hash.digest('hex');
}
