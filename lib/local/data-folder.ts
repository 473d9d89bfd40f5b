import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EngineError } from './errors.ts';

/** The entries that the engine makes in its data folder. It leaves all others as they are. */
const own = ['accounts.json', 'engine.lock', 'keys', 'kms.json', 'logs', 'postgres', 'queues', 'secrets.json', 'tasks'];
/** It may hold very many files. As long as the folder itself is its owner's alone, others reach none of them. */
const objects = 's3';
/** Where the version before this one kept objects and queues. */
const formerFolder = 'aws';
const ofOthers = 0o077;
const writableByOthers = 0o022;
/** On a folder: only the owner of an entry may rename it. */
const sticky = 0o1000;

/**
 * Makes the data folder for its owner alone, or takes the rights of others away from one that is there and from what an
 * engine has put into it.
 *
 * @param path absolute
 * @param warn called for each parent in which other users could replace the folder
 * @throws EngineError when it is a link, another user's, or of an earlier version
 */
export function prepareDataFolder(path: string, warn: (text: string) => void): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const status = lstatSync(path);
  if (status.isSymbolicLink())
    throw new EngineError(`the data folder ${path} is a symbolic link: name the folder itself`);
  if (existsSync(join(path, formerFolder))) {
    throw new EngineError(
      `the data folder ${path} is of an earlier version, whose objects cannot be read: name a new folder, and archive the files again`,
    );
  }
  // Windows has no such users.
  if (process.getuid === undefined) return;
  if (status.uid !== process.getuid())
    throw new EngineError(`the data folder ${path} belongs to another user: name a folder of your own`);
  takeFromOthers(path);
  tightenContent(path);
  for (let parent = dirname(path); ; parent = dirname(parent)) {
    const { mode } = statSync(parent);
    if ((mode & writableByOthers) !== 0 && (mode & sticky) === 0) {
      warn(`other users may write to ${parent} and could replace ${path}: choose a folder that is yours alone`);
    }
    if (parent === dirname(parent)) return;
  }
}

/**
 * Takes the rights of others from all that an engine has put into its data folder. The umask is not enough: copied
 * files keep the modes that they had, and the database sets some itself.
 */
export function tightenContent(path: string): void {
  for (const name of own) tighten(join(path, name));
  const { mode = 0 } = lstatSync(join(path, objects), { throwIfNoEntry: false }) ?? {};
  if ((mode & ofOthers) !== 0) tighten(join(path, objects));
}

/** A file or a folder with all that is in it; links are not followed. */
function tighten(path: string): void {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined || status.isSymbolicLink()) return;
  takeFromOthers(path);
  if (status.isDirectory()) for (const name of readdirSync(path)) tighten(join(path, name));
}

function takeFromOthers(path: string): void {
  const { mode } = lstatSync(path);
  if ((mode & ofOthers) !== 0) chmodSync(path, mode & 0o7777 & ~ofOthers);
}
