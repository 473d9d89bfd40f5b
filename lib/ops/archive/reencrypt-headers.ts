import { isDeepStrictEqual } from 'node:util';
import { forEachConcurrently } from '../../common/concurrently.ts';
import { openHeader } from '../../crypt4gh/index.ts';
import { type DataOutError, damaged, isDamage } from '../../errors.ts';
import { headerFor } from '../../service/archive/archived-file.ts';
import type { ArchiveKey } from '../../service/archive/ports.ts';
import { keyHashOf } from '../../service/stores/archive-keys.ts';
import type { StoredHeader } from '../catalogue/headers.ts';
import { OpsError } from '../errors.ts';
import type { Target } from '../target.ts';

/** Headers that are changed at once. */
const parallel = 8;
/** Files after which progress is told. */
const reported = 64;

export interface ReencryptOptions {
  readonly signal: AbortSignal;
  /** Called with the number of files so far. */
  readonly onProgress: (files: number) => void;
  /** Called for a file whose header stays as it is, because no key opens it. */
  readonly onDamaged: (error: DataOutError) => void;
}

/**
 * Re-encrypt the stored header of every file to the newest key of the archive; bodies stay as they are. Files whose header is
 * for that key are left alone, so the same call resumes after a failure.
 * @param keys the archive's keys, newest first
 * @returns how many headers were changed
 * @throws OpsError `partial` when no key opens some headers, or some changed meanwhile
 */
export async function reencryptHeaders(
  headers: Target['archiveHeaders'],
  keys: readonly [ArchiveKey, ...ArchiveKey[]],
  { signal, onProgress, onDamaged }: ReencryptOptions,
): Promise<number> {
  const newHash = keyHashOf(keys[0].publicKey);
  let changed = 0;
  let left = 0;
  await forEachConcurrently(headers.stored([newHash]), parallel, async (stored) => {
    signal.throwIfAborted();
    try {
      if ('damage' in stored) throw stored.damage;
      const isChanged = await headers.replace(stored, renewed(stored, keys), newHash);
      if (isChanged) changed += 1;
      else left += 1;
    } catch (error) {
      if (!isDamage(error)) throw error;
      left += 1;
      onDamaged(error);
    }
    if ((changed + left) % reported === 0) onProgress(changed);
  });
  if ((changed + left) % reported > 0) onProgress(changed);
  if (left === 0) return changed;
  const message = `${left} of ${left + changed} headers are not for the newest key`;
  throw new OpsError('partial', `${message}: look at the warnings, and give the same command again`);
}

/**
 * The header for the newest key. It is opened again before it may take the place of the stored one: without a header that
 * opens, a file is lost.
 */
function renewed(stored: StoredHeader, keys: readonly [ArchiveKey, ...ArchiveKey[]]): Uint8Array {
  const [{ privateKey, publicKey }] = keys;
  const header = headerFor(stored, keys, publicKey);
  const before = openHeader(
    stored.header,
    keys.map((key) => key.privateKey),
  );
  const after = openHeader(header, [privateKey]);
  if (!isDeepStrictEqual(after.payloads, before.payloads)) {
    throw damaged(`the header of file ${stored.fileId} would not say the same for the newest key`);
  }
  return header;
}
