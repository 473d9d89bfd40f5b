import { lstat, readFile } from 'node:fs/promises';
import { basename, join, relative, resolve, sep } from 'node:path';
import { UsageError, usageError } from '../../terminal/errors.ts';
import { checkIdentifier, type IdentifierPatterns } from './identifiers.ts';
import { regularFile, statOf } from './input.ts';
import { readManifest } from './manifest.ts';
import { walkFolder } from './walk.ts';

/** A file to archive that was not opened yet. */
export interface SourceFile {
  /** As the user named it, for messages. */
  readonly label: string;
  /** Absolute. */
  readonly file: string;
  /** Bytes. */
  readonly size: number;
  /** Path that researchers see. */
  readonly path: string;
  readonly datasetId: string;
  /** `undefined`: a new local id. */
  readonly fileId: string | undefined;
}

export interface Sources {
  readonly files: readonly SourceFile[];
  /** Remarks about files that are left out. */
  readonly notes: readonly string[];
}

/**
 * The files that folders and files on the command line name. A file of a folder has its path from that folder on, any other
 * its base name.
 * @throws UsageError or `not_found`: nothing was added
 */
export async function sourcesOf(names: readonly string[], folder: string, datasetId: string): Promise<Sources> {
  const files: SourceFile[] = [];
  const notes: string[] = [];
  for (const name of names) {
    const absolute = resolve(folder, name);
    if ((await statOf(absolute, name)).isDirectory()) {
      const walked = await walkFolder(absolute, name);
      for (const { path, size } of walked.files) {
        const label = join(name, path);
        files.push({ label, file: join(absolute, path), size, path, datasetId, fileId: undefined });
      }
      if (walked.files.length === 0) throw usageError(name, 'the folder holds no file that can be added');
      if (walked.hidden > 0) {
        notes.push(
          `${name}: ${walked.hidden} hidden ${walked.hidden === 1 ? 'file or folder is' : 'files or folders are'} left out`,
        );
      }
    } else {
      const { size } = await regularFile(absolute, name);
      files.push({ label: name, file: absolute, size, path: basename(absolute), datasetId, fileId: undefined });
    }
  }
  for (const { label, path } of files) checkPath(label, path);
  refuseOnePath(files);
  return { files, notes };
}

/** Bytes. A manifest of 100,000 files is far smaller. */
const maxManifestBytes = 64 * 2 ** 20;

/**
 * The files that a manifest names, see `readManifest`.
 * @param root folder of its paths; the files below it that the manifest does not name are counted in a note. @default - the
 *   working folder
 * @throws UsageError or `not_found`: nothing was added
 */
export async function sourcesOfManifest(
  manifest: string,
  choices: {
    readonly folder: string;
    readonly root: string | undefined;
    readonly datasetId: string | undefined;
    readonly patterns: IdentifierPatterns;
  },
): Promise<Sources> {
  const { folder, root, patterns } = choices;
  const absolute = resolve(folder, manifest);
  const { size } = await regularFile(absolute, manifest);
  if (size > maxManifestBytes) throw usageError('--manifest', `${manifest} has more than ${maxManifestBytes} bytes`);
  const top = resolve(folder, root ?? '');
  const files: SourceFile[] = [];
  const real = new Set<string>();
  for (const row of readManifest(await readFile(absolute), manifest, choices.datasetId)) {
    const { where, name, fileId, datasetId } = row;
    checkIdentifier(where('dataset'), datasetId, 'dataset', patterns);
    if (fileId !== undefined) checkIdentifier(where('file_id'), fileId, 'file', patterns);
    const path = checkPath(where(row.path === name ? 'path' : 'submission_path'), row.path);
    const file = join(top, name);
    const link = await linkBelow(top, file, real);
    if (link !== undefined) throw usageError(where('path'), `${link} is a symbolic link`, withoutLinks);
    const stats = await statOf(file, name).catch((error: unknown) => {
      throw usageError(where('path'), error instanceof Error ? error.message : String(error));
    });
    if (!stats.isFile()) throw usageError(where('path'), `${name} is not a regular file`);
    files.push({ label: name, file, size: stats.size, path, datasetId, fileId });
  }
  const notes =
    root === undefined ? [] : await leftOut(top, root, new Set([...files.map(({ file }) => file), absolute]));
  return { files, notes };
}

const withoutLinks = 'Replace the link by the file itself, or name the folder that the paths begin at.';

/**
 * The first symbolic link on the way from `top` down to a file: with it, a submission could name any file of this machine.
 * @param real paths that are known not to be links
 */
async function linkBelow(top: string, file: string, real: Set<string>): Promise<string | undefined> {
  let path = top;
  for (const part of relative(top, file).split(sep)) {
    path = join(path, part);
    if (real.has(path)) continue;
    const stats = await lstat(path).catch(() => undefined);
    if (stats?.isSymbolicLink()) return relative(top, path);
    real.add(path);
  }
  return undefined;
}

async function leftOut(top: string, root: string, named: ReadonlySet<string>): Promise<string[]> {
  if (!(await statOf(top, root)).isDirectory()) {
    throw usageError(root, 'with --manifest, expected the folder that its paths begin at, or nothing');
  }
  const { files } = await walkFolder(top, root);
  const others = files.filter(({ path }) => !named.has(join(top, path)));
  if (others.length === 0) return [];
  return [`${root}: the manifest does not name ${others.length} of its files, such as ${others[0]?.path}`];
}

/** A path that researchers can be shown. @throws UsageError */
export function checkPath(source: string, path: string): string {
  if (path.length === 0 || path.length > 4096 || /\p{Cc}|\p{Cs}/u.test(path)) {
    throw usageError(source, 'expected a path of 1 to 4096 characters, no control characters');
  }
  return path;
}

/** A second run knows files of a dataset by their paths. @throws UsageError */
function refuseOnePath(files: readonly SourceFile[]): void {
  const first = new Map<string, string>();
  for (const { label, path } of files) {
    const earlier = first.get(path);
    if (earlier !== undefined) {
      throw new UsageError(`${earlier} and ${label} would both be ${path} in the dataset; nothing was added`, {
        remedy: 'Give them other paths with --manifest, or add them one by one with --path.',
      });
    }
    first.set(path, label);
  }
}
