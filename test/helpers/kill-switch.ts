/**
 * Kills a Node.js process at one step of what it does to the file system, or writes down all its steps: by an import that
 * `NODE_OPTIONS` names. A step is a call that changes something, such as `rename a.bam.part 1` (the first of these).
 */
const source = `
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';
const { KILL_AT: at, KILL_HOW: how, STEPS_FILE: stepsFile } = process.env;
const counts = new Map();
const steps = [];
const die = () => process.kill(process.pid, 'SIGKILL');
const step = (name, path) => {
  const what = name + ' ' + basename(String(path));
  counts.set(what, (counts.get(what) ?? 0) + 1);
  steps.push(what + ' ' + counts.get(what));
  return steps.at(-1) === at;
};
const watch = (owner, name, pathOf) => {
  const original = owner[name];
  owner[name] = async function (...args) {
    const isIt = step(name, pathOf.call(this, ...args));
    if (isIt && how === 'before') die();
    if (isIt && how === 'halfway') {
      const [bytes, offset, length, position] = args;
      await original.call(this, bytes, offset, Math.ceil((length ?? bytes.length) / 2), position);
      die();
    }
    const result = await original.apply(this, args);
    if (isIt) die();
    return result;
  };
};
const watchSync = (name) => {
  const original = fs[name];
  fs[name] = (...args) => {
    if (name === 'openSync' && (args[1] ?? 'r') === 'r') return original(...args);
    const path = args[name === 'linkSync' ? 1 : 0];
    const isIt = step(name.replace('Sync', ''), typeof path === 'number' ? '' : path);
    if (isIt && how === 'before') die();
    const result = original(...args);
    if (isIt) die();
    return result;
  };
};
const writeFileSync = fs.writeFileSync;
for (const name of ['openSync', 'writeSync', 'writeFileSync', 'futimesSync', 'linkSync', 'renameSync', 'unlinkSync', 'fdatasync']) watchSync(name);
const paths = new WeakMap();
const handle = await fs.promises.open('/dev/null');
const FileHandle = Object.getPrototypeOf(handle);
await handle.close();
for (const name of ['write', 'writev', 'writeFile', 'truncate', 'datasync', 'sync', 'utimes']) {
  watch(FileHandle, name, function () { return paths.get(this) ?? ''; });
}
for (const name of ['rename', 'rm', 'link', 'mkdir', 'writeFile', 'utimes']) watch(fs.promises, name, (path) => path);
const open = fs.promises.open;
fs.promises.open = async (path, flags, ...rest) => {
  const changes = flags !== undefined && flags !== 'r' && flags !== fs.constants.O_RDONLY;
  const isIt = changes && step('open', path);
  if (isIt && how === 'before') die();
  const opened = await open(path, flags, ...rest);
  if (isIt) die();
  paths.set(opened, path);
  return opened;
};
syncBuiltinESMExports();
if (stepsFile) process.on('exit', () => writeFileSync(stepsFile, JSON.stringify(steps)));
`;

export type Ending = 'before' | 'after' | 'halfway';

export interface KillChoices {
  /** The step, and when: before it, after it, or, for a write, when half of it is written. */
  readonly at?: { readonly step: string; readonly ending: Ending };
  /** File for the steps, a JSON array, written at the end of a process that is not killed. */
  readonly stepsFile?: string;
}

/** For the environment of the process. */
export function killSwitch({ at, stepsFile }: KillChoices): Readonly<Record<string, string>> {
  return {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}`,
    ...(at && { KILL_AT: at.step, KILL_HOW: at.ending }),
    ...(stepsFile !== undefined && { STEPS_FILE: stepsFile }),
  };
}
