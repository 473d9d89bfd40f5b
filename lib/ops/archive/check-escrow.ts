import { Crypt4ghError, openHeader, publicKeyFingerprint } from '../../crypt4gh/index.ts';
import type { ArchiveKey } from '../../service/archive/ports.ts';
import type { Target } from '../target.ts';

/** Most files that are named. */
const mostNamed = 10;

/**
 * Open the stored header of every file with copies of the archive's keys, without the archive's own secret.
 * @returns how many files each key opens, by its fingerprint; a header may be for several. `lost` files are opened by none
 */
export async function checkEscrow(headers: Target['archiveHeaders'], keys: readonly ArchiveKey[], signal: AbortSignal) {
  const opened = new Map(keys.map(({ publicKey }) => [publicKeyFingerprint(publicKey), 0]));
  const unopened: string[] = [];
  let files = 0;
  let lost = 0;
  for await (const stored of headers.stored()) {
    signal.throwIfAborted();
    files += 1;
    const fitting = 'damage' in stored ? [] : keys.filter(({ privateKey }) => opens(stored.header, privateKey));
    for (const { publicKey } of fitting) {
      const fingerprint = publicKeyFingerprint(publicKey);
      opened.set(fingerprint, (opened.get(fingerprint) ?? 0) + 1);
    }
    if (fitting.length > 0) continue;
    lost += 1;
    if (unopened.length < mostNamed) unopened.push(stored.fileId);
  }
  return { opened, files, unopened, lost };
}

function opens(header: Uint8Array, privateKey: Uint8Array): boolean {
  try {
    for (const key of openHeader(header, [privateKey]).dataKeys) key.fill(0);
    return true;
  } catch (error) {
    if (error instanceof Crypt4ghError) return false;
    throw error;
  }
}
