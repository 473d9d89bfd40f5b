import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { adminPageContext } from '../../contract/synth-context.ts';
import { EngineError } from '../errors.ts';
import { takeLock } from '../process-lock.ts';

/** Parts of `lib` that neither a function nor the stacks import, but for the rules that the administrators' page shares; `test/infra/synth-inputs.test.ts` checks it. */
const elsewhere = ['cli', 'client', 'demo', 'local', 'ops', 'releases', 'terminal'];
const sharedRules = ['order', 'errors.ts', 'export-state.ts', 'json.ts', 'visa-choice.ts'];
const fixedInputs = [
  ...sharedRules.map((name) => `lib/client/${name}`),
  ...['bin/admin-page.ts', 'bin/app.ts', 'bin/openapi.ts', 'bin/settings.ts', 'lambdas', 'config', 'docs/openapi'],
  ...['cdk.json', 'cdk.context.json', 'package.json', 'package-lock.json', 'tsconfig.json'],
];
/** A synth takes half a minute; another process that holds the lock for longer than this hangs. */
const patienceMs = 180_000;

export interface FreshAssemblyOptions {
  /** Root of the source tree: the folder of `cdk.json`. */
  readonly root: string;
  /** Called before a synth. @default - nothing */
  readonly onSynth?: () => void;
  /** Ends a synth. */
  readonly signal?: AbortSignal;
}

/**
 * The cloud assembly of a source tree, as `cdk deploy` would ship it. It is synthesized only if the content of a source,
 * a setting or the lock file has changed since the last time, or if the assembly itself has. Processes that ask at the
 * same time wait for one synth.
 *
 * @returns the folder `cdk.out`
 * @throws EngineError with the output of a synth that failed
 */
export async function freshAssembly({ root, onSynth, signal }: FreshAssemblyOptions): Promise<string> {
  const output = join(root, 'cdk.out');
  const stamp = join(output, 'inputs.sha256');
  mkdirSync(output, { recursive: true });
  const release = await acquire(join(output, 'inputs.lock'), signal);
  try {
    // Before the synth: a source that changes during it belongs to the next one.
    const wanted = digestOfInputs(root);
    if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== `${wanted} ${digestOfAssembly(output)}`) {
      onSynth?.();
      await synthesize(root, signal);
      writeFileSync(stamp, `${wanted} ${digestOfAssembly(output)}`);
    }
    return output;
  } finally {
    release();
  }
}

/** Files and folders that a synth reads, relative to the root. */
export function synthInputs(root: string): readonly string[] {
  const areas = readdirSync(join(root, 'lib')).filter((name) => !elsewhere.includes(name));
  return [...fixedInputs, ...areas.map((name) => `lib/${name}`)];
}

async function synthesize(root: string, signal: AbortSignal | undefined): Promise<void> {
  const cdk = join(root, 'node_modules/aws-cdk/bin/cdk');
  const flags = ['synth', '--quiet', '--no-notices', '--no-version-reporting', '--context', `${adminPageContext}=true`];
  // `cdk.json` starts `node`: the pinned one, also when npm did not start this process.
  const searchPath = [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter);
  const options = { cwd: root, env: { ...process.env, PATH: searchPath }, ...(signal && { signal }) };
  const giveUp = Date.now() + patienceMs;
  for (;;) {
    try {
      await promisify(execFile)(process.execPath, [cdk, ...flags], options);
      return;
    } catch (error) {
      signal?.throwIfAborted();
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      const said = `${stdout}${stderr}`.trim() || String(error);
      // Of `npm run synth`, or of a process that was killed and left its synth running.
      if (!said.includes('currently synthing') || Date.now() > giveUp) {
        throw new EngineError(`${said}\nThe synth of the template failed: see above.`, { cause: error });
      }
      await pause(500, undefined, { signal });
    }
  }
}

async function acquire(path: string, signal: AbortSignal | undefined): Promise<() => void> {
  const giveUp = Date.now() + patienceMs;
  for (;;) {
    const lock = takeLock(path);
    if ('release' in lock) return lock.release;
    if (Date.now() > giveUp) {
      throw new EngineError(
        `process ${lock.owner} has held ${path} for 3 minutes: if it is another start, end it; if not, remove the file`,
      );
    }
    await pause(200, undefined, { signal });
  }
}

function digestOfInputs(root: string): string {
  const hash = createHash('sha256');
  const add = (path: string) => {
    const stat = statSync(join(root, path), { throwIfNoEntry: false });
    hash.update(`${path}\0${stat?.isFile() ? stat.size : ''}\0`);
    if (stat?.isFile()) hash.update(readFileSync(join(root, path)));
    if (stat?.isDirectory()) for (const name of readdirSync(join(root, path)).sort()) add(`${path}/${name}`);
  };
  for (const path of synthInputs(root)) add(path);
  return hash.digest('hex');
}

/** Over the manifests and templates, and over the names of the bundles: each has the hash of its content in its name. */
function digestOfAssembly(output: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(output).sort()) {
    if (/^asset\.\w+$/.test(name)) hash.update(`${name}\0`);
    if (/^manifest\.json$|\.(template|assets)\.json$/.test(name))
      hash.update(`${name}\0`).update(readFileSync(join(output, name)));
  }
  return hash.digest('hex');
}
