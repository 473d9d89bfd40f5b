/**
 * Watches and forbids what a Node.js process writes to the file system, by `NODE_OPTIONS`: the permission model refuses
 * every write, and each call of `fs` that could write is reported on standard error first.
 */
export const watchMark = 'wrote to the file system';

const source = `
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
const names = ['appendFile', 'copyFile', 'cp', 'link', 'mkdir', 'mkdtemp', 'open', 'rename', 'symlink', 'truncate', 'writeFile'];
const reads = (flags) => flags === undefined || flags === 'r' || flags === fs.constants.O_RDONLY || typeof flags === 'function';
const tell = (name, path) => process.stderr.write(JSON.stringify({ message: '${watchMark}', name, path: String(path) }) + '\\n');
const watch = (owner, name) => {
  const original = owner[name];
  if (typeof original !== 'function') return;
  owner[name] = function (path, flags, ...rest) {
    if (!name.startsWith('open') || !reads(flags)) tell(name, path);
    return original.call(this, path, flags, ...rest);
  };
};
for (const name of names) {
  watch(fs, name);
  watch(fs, name + 'Sync');
  watch(fs.promises, name);
}
watch(fs, 'createWriteStream');
syncBuiltinESMExports();
`;

/** For the environment of the process to be watched. */
export const writeWatch = {
  NODE_OPTIONS: `--permission --allow-fs-read=* --import=data:text/javascript,${encodeURIComponent(source)}`,
} as const;
