import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { EngineError } from '../errors.ts';
import { takeLock } from '../process-lock.ts';
import { type SynthesisOptions, synthesize } from './synthesize.ts';

/**
 * Parts of `lib` that neither a function nor the stacks import, except the rules that the administrators' page shares.
 * `test/infra/synth-inputs.test.ts` checks it.
 */
const elsewhere = ['client', 'local', 'ops', 'terminal'];
const sharedRules = ['order', 'errors.ts', 'export-page.ts', 'json.ts', 'visa-choice.ts'];
const fixedInputs = [
  ...sharedRules.map((name) => `lib/client/api/${name}`),
  ...[
    'lib/client/admin-page',
    'bin/admin-page.ts',
    'bin/app.ts',
    'bin/openapi.ts',
    'bin/operator-settings.ts',
    'bin/settings.ts',
    'lambdas',
    'config',
    'docs/openapi',
  ],
  ...['cdk.json', 'cdk.context.json', 'package.json', 'package-lock.json', 'tsconfig.json'],
];
/** A synth takes seconds; another process that holds the lock for longer than this hangs. */
const patienceMs = 180_000;

export interface FreshAssemblyOptions extends SynthesisOptions {
  /** Root of the source tree: the folder of `cdk.json`. */
  readonly root: string;
  /** Called before a synth. @default - nothing */
  readonly onSynth?: () => void;
  /** Called after a synth, also after one that failed. @default - nothing */
  readonly onSynthEnd?: () => void;
}

/**
 * The cloud assembly of a source tree, as `cdk deploy` would ship it. It is synthesized only if the content of a source,
 * a setting or the lock file has changed since the last time, or if the assembly itself has. Processes that ask at the
 * same time wait for one synth.
 *
 * @returns the folder `cdk.out/local`, apart from what `cdk deploy` and `npm run synth` write: only this assembly surely has the
 * administrators' page. Its `synth.log` holds what the last synth said
 * @throws EngineError with what stopped a synth that failed
 */
export async function freshAssembly(options: FreshAssemblyOptions): Promise<string> {
  const { root, signal } = options;
  const output = join(root, 'cdk.out/local');
  const stamp = join(output, 'inputs.sha256');
  mkdirSync(output, { recursive: true });
  const release = await acquire(join(output, 'inputs.lock'), signal);
  try {
    // Before the synth: a source that changes during it belongs to the next one.
    const wanted = digestOfInputs(root);
    if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== `${wanted} ${digestOfAssembly(output)}`) {
      options.onSynth?.();
      await synthesize(root, output, { ...options, patienceMs }).finally(options.onSynthEnd);
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

/** SHA-256 over the names and contents of all that a synth reads, in hex. */
export function digestOfInputs(root: string): string {
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
