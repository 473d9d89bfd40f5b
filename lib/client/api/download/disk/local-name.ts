import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fileNameBytes, isReservedName, safeFileName } from '../../../../common/names.ts';
import { isOutboxFileName } from '../../../../contract/outbox-key.ts';
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

/** The name of the plaintext of a container: without `.c4gh`. */
export function plaintextName(name: string): string {
  return name.replace(/\.c4gh$/i, '');
}

/** The paths of a file of that name in a folder. @throws LocalDiskError if the name cannot be used */
export function localPaths(folder: string, name: string): LocalPaths {
  // It must stay in its folder, be shown there as it is, and suit every system.
  if (isReservedName(name) || (!isOutboxFileName(name) && safeFileName(name) !== name)) {
    throw new LocalDiskError(`${JSON.stringify(name)} cannot be the name of a local file`, {
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
