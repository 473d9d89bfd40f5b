import { lstat, readFile } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { parseCsv } from '../../terminal/csv.ts';
import { UsageError, usageError } from '../../terminal/errors.ts';
import { checkIdentifier, type IdentifierPatterns } from './identifiers.ts';
import { regularFile, statOf } from './input.ts';

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

const columns = { required: ['path'], optional: ['file_id', 'submission_path', 'dataset'] };

/**
 * The files that a manifest names, see `parseCsv`: the columns `path`, and optionally `file_id` (an empty one: a new local id),
 * `submission_path` (the path that researchers see; an empty one: `path`) and `dataset` (an empty one: `datasetId`).
 * @param choices.root folder of its paths. @default - the working folder
 * @param choices.onFault gets each of several wrong lines
 * @throws UsageError that names line and column of the one wrong line, or says how many are wrong; `not_found`: nothing was added
 */
export async function sourcesOfManifest(
  manifest: string,
  choices: {
    readonly folder: string;
    readonly root: string | undefined;
    readonly datasetId: string | undefined;
    readonly patterns: IdentifierPatterns;
    readonly onFault: (message: string) => void;
  },
): Promise<readonly SourceFile[]> {
  const absolute = resolve(choices.folder, manifest);
  await regularFile(absolute, manifest);
  const top = resolve(choices.folder, choices.root ?? '');
  if (!(await statOf(top, choices.root ?? '.')).isDirectory()) {
    throw usageError(top, 'with --manifest, expected the folder that its paths begin at, or nothing');
  }
  const real = new Set<string>();
  const files: SourceFile[] = [];
  const faults: UsageError[] = [];
  for (const row of manifestRows(await readFile(absolute), manifest, choices.datasetId)) {
    try {
      const { where, name, path, fileId, datasetId } = row();
      checkIdentifier(where('dataset'), datasetId, 'dataset', choices.patterns);
      if (fileId !== undefined) checkIdentifier(where('file_id'), fileId, 'file', choices.patterns);
      checkPath(where(path === name ? 'path' : 'submission_path'), path);
      const file = join(top, name);
      const link = await linkBelow(top, file, real);
      if (link !== undefined) {
        const remedy = 'Replace the link by the file itself, or name the folder that the paths begin at.';
        throw usageError(where('path'), `${link} is a symbolic link`, remedy);
      }
      const stats = await statOf(file, name).catch((error: unknown) => {
        throw usageError(where('path'), error instanceof Error ? error.message : String(error));
      });
      if (!stats.isFile()) throw usageError(where('path'), `${name} is not a regular file`);
      files.push({ label: name, file, size: stats.size, path, datasetId, fileId });
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      faults.push(error);
    }
  }
  const [fault] = faults;
  if (!fault) return files;
  if (faults.length === 1) throw fault;
  for (const { message } of faults) choices.onFault(message);
  const remedies = new Set(faults.flatMap(({ remedy }) => remedy ?? []));
  const message = `${faults.length} lines of ${manifest} are wrong, see above; nothing was added`;
  throw usageError('--manifest', message, [...remedies].join(' ') || undefined);
}

/** The rows, whose ids and paths are not checked yet. Each is read by its call. @throws UsageError that names line and column */
export function manifestRows(bytes: Uint8Array, file: string, datasetId: string | undefined) {
  const lines = new Map<string, number>();
  return parseCsv(bytes, { source: '--manifest', path: file, ...columns }).map(({ line, values, fault }) => () => {
    if (fault !== undefined) throw usageError('--manifest', `${file}, line ${line}: ${fault}`);
    const where = (column: string) => `${file}, line ${line}, column ${column}`;
    const once = (column: string, value: string, key: string) => {
      const earlier = lines.get(key);
      if (earlier !== undefined) throw usageError(where(column), `${value} is already in line ${earlier}`);
      lines.set(key, line);
    };
    const name = values.path ?? '';
    const dataset = values.dataset || datasetId;
    if (name === '') throw usageError(where('path'), 'the value is empty');
    if (name.startsWith('/') || name.split('/').includes('..')) {
      throw usageError(where('path'), `${name} is outside of the folder`);
    }
    if (dataset === undefined) throw usageError(where('dataset'), 'the value is empty, and there is no --dataset');
    const path = values.submission_path || name;
    once('path', name, `file ${name}`);
    if (values.file_id) once('file_id', values.file_id, `id ${values.file_id}`);
    once(values.submission_path ? 'submission_path' : 'path', path, `place ${dataset} ${path}`);
    return { where, name, path, datasetId: dataset, fileId: values.file_id || undefined };
  });
}

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

/** A path that researchers can be shown. @throws UsageError */
export function checkPath(source: string, path: string): string {
  if (path.length === 0 || path.length > 4096 || /\p{Cc}|\p{Cs}/u.test(path)) {
    throw usageError(source, 'expected a path of 1 to 4096 characters, no control characters');
  }
  return path;
}
