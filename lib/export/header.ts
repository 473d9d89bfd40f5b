import { Crypt4ghError, reencryptHeader } from '../crypt4gh/index.ts';
import { ArchiveDamagedError } from '../errors.ts';
import type { ArchivedFile, ArchiveKey } from './ports.ts';

/**
 * The file's header, re-encrypted to `recipient`. Sender key and nonces are derived from the archive key that opens the
 * header, so every export of the file to this key writes the same bytes.
 *
 * @param candidates archive keys to try, best match first
 * @throws ArchiveDamagedError when no key opens the header, or it is not a header
 */
export function headerFor(
  file: Pick<ArchivedFile, 'fileId' | 'header'>,
  candidates: readonly ArchiveKey[],
  recipient: Uint8Array,
): Uint8Array {
  const failures = new Set<string>();
  for (const { privateKey } of candidates) {
    try {
      return reencryptHeader({
        header: file.header,
        readerKeys: [privateKey],
        recipients: [recipient],
        derivation: { secret: privateKey, context: file.fileId },
      });
    } catch (error) {
      if (!(error instanceof Crypt4ghError)) throw error;
      failures.add(error.code);
    }
  }
  throw new ArchiveDamagedError(
    `none of ${candidates.length} archive keys opens the header: ${[...failures].join(', ') || 'no key'}`,
  );
}
