import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fileNameBytes, isReservedName, safeFileName } from '../../../../common/names.ts';
import { LocalDiskError } from './local-disk.ts';

/** The paths of one file and of its work files. */
export interface LocalPaths {
  readonly final: string;
  /** The file while it is incomplete. */
  readonly part: string;
  /** Which bytes of the part are written. */
  readonly journal: string;
  /** Exists while a process works on the part. */
  readonly lock: string;
}

const longestSuffix = '.part.lock.turn';

/**
 * Why a name from the network cannot be the name of a local file; `undefined`: it can. A name must stay in its folder, must
 * not be hidden there, and must not hold characters that are not shown.
 */
export function nameProblem(name: string, platform: NodeJS.Platform = process.platform): string | undefined {
  if (name === '') return 'it is empty';
  if (/[/\\]/.test(name)) return 'it is a path, not a name';
  if (name.startsWith('.')) return 'it begins with a dot';
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) return 'it holds characters that cannot be shown';
  if (/^\s|\s$/.test(name)) return 'it begins or ends with a space';
  if (Buffer.byteLength(name) > fileNameBytes) return `it is longer than ${fileNameBytes} bytes`;
  if (platform === 'win32') {
    if (/[<>:"|?*]/.test(name) || name.endsWith('.')) return 'Windows does not allow it';
    if (isReservedName(name)) return 'Windows reserves it';
  }
  return undefined;
}

/** The name of the plaintext of a container: without `.c4gh`. */
export function plaintextName(name: string): string {
  return name.replace(/\.c4gh$/i, '');
}

/** The paths of a file of that name in a folder. @throws LocalDiskError if the name cannot be used */
export function localPaths(folder: string, name: string): LocalPaths {
  const problem = nameProblem(name);
  if (problem !== undefined) {
    throw new LocalDiskError(`${JSON.stringify(name)} cannot be the name of a local file: ${problem}`, {
      remedy: 'Tell the operator: the service should not list such a name.',
    });
  }
  const part = partPath(folder, name);
  return { final: join(folder, name), part, journal: `${part}.json`, lock: `${part}.lock` };
}

/** The path of a file while it is incomplete. */
export function partPath(folder: string, name: string): string {
  return join(folder, `${workName(name)}.part`);
}

/** The name; if it leaves no room for a suffix, its beginning and a digest. */
function workName(name: string): string {
  if (Buffer.byteLength(name) + longestSuffix.length <= fileNameBytes) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 16);
  let start = name;
  while (Buffer.byteLength(start) + digest.length + longestSuffix.length + 1 > fileNameBytes)
    start = start.slice(0, -1);
  return `${start}~${digest}`;
}

/** Finds names of one run that would be the same file on a disk that ignores case or Unicode forms. */
export class NameClashes {
  readonly #owners = new Map<string, string>();

  /** @throws LocalDiskError if an earlier name has one of the paths */
  claim(name: string, paths: LocalPaths): void {
    const keys = Object.values(paths).map((path: string) => path.normalize('NFC').toLowerCase());
    const owner = keys.map((key) => this.#owners.get(key)).find((each) => each !== undefined);
    if (owner !== undefined) {
      throw new LocalDiskError(`${JSON.stringify(name)} may be the same local file as ${JSON.stringify(owner)}`, {
        remedy: 'Download the two into different folders.',
      });
    }
    for (const key of keys) this.#owners.set(key, name);
  }
}

/**
 * Where a container lies in a folder under the path that its submitter gave it, as segments: a relative path that never leaves the
 * folder. Each segment becomes a name that every system can save.
 * @param submitted untrusted text, as a receipt has it
 * @returns `undefined` if the path has no name
 */
export function originalPath(submitted: string): readonly string[] | undefined {
  const segments = submitted.split(/[/\\]/).filter((segment) => segment !== '' && segment !== '.');
  const last = segments.pop();
  if (last === undefined) return undefined;
  return [...segments, `${plaintextName(last)}.c4gh`].map(safeFileName);
}
