import { Crypt4ghError, decryptedSize, openHeader, reencryptHeader } from '../../crypt4gh/index.ts';
import { damaged, isDamage } from '../../errors.ts';
import type { Archive, ArchivedFile, ArchiveKey, BodyAddress, ContainerSource } from './ports.ts';

type StoredHeader = Pick<ArchivedFile, 'fileId' | 'header'>;

/**
 * The file's header, re-encrypted to `recipient`. Sender key and nonces are derived from the archive key that opens the
 * header, so every export of the file to this key writes the same bytes.
 *
 * @param candidates archive keys to try, best match first
 * @param editList takes the place of the stored one, over the whole plaintext; `null`: none. Default: the stored one
 */
export function headerFor(
  file: StoredHeader,
  candidates: readonly ArchiveKey[],
  recipient: Uint8Array,
  editList?: readonly bigint[] | null,
): Uint8Array {
  return withArchiveKey(candidates, (privateKey) =>
    reencryptHeader({
      header: file.header,
      readerKeys: [privateKey],
      recipients: [recipient],
      derivation: { secret: privateKey, context: file.fileId },
      editList,
    }),
  );
}

/**
 * The edit list of the stored header; `undefined` when it has none.
 *
 * @param candidates archive keys to try, best match first
 */
export function storedEditList(
  { header }: StoredHeader,
  candidates: readonly ArchiveKey[],
): readonly bigint[] | undefined {
  return withArchiveKey(candidates, (privateKey) => {
    const { dataKeys, editList } = openHeader(header, [privateKey]);
    for (const key of dataKeys) key.fill(0);
    return editList;
  });
}

/**
 * The result of `use` with the first archive key that fits.
 *
 * @param candidates archive keys to try, best match first
 * @param use opens a stored header with the private key
 */
function withArchiveKey<T>(candidates: readonly ArchiveKey[], use: (privateKey: Uint8Array) => T): T {
  const failures = new Set<string>();
  for (const { privateKey } of candidates) {
    try {
      return use(privateKey);
    } catch (error) {
      if (!(error instanceof Crypt4ghError)) throw error;
      failures.add(error.code);
    }
  }
  throw damaged(`none of ${candidates.length} archive keys opens the header: ${[...failures].join(', ') || 'no key'}`);
}

/**
 * The file's body as the archive has it now. Later reads and copies give its ETag, so they cannot take another body.
 *
 * @param options.checksum also ask for the CRC-64/NVME of the body. The caller needs the right to decrypt it
 */
export async function bodySource(
  file: BodyAddress & Pick<ArchivedFile, 'archiveFileSize'>,
  archive: Pick<Archive, 'head'>,
  options?: { readonly checksum: boolean },
): Promise<ContainerSource> {
  const { archiveLocation, archiveFilePath } = file;
  const address = { archiveLocation, archiveFilePath };
  const { size, etag, crc64nvme } = await archive.head(address, options);
  if (size !== file.archiveFileSize) {
    throw damaged(`the catalogue says ${file.archiveFileSize} bytes of body, the archive has ${size}`);
  }
  return { address, archiveEtag: etag, bodySize: size, crc64nvme };
}

/** Bytes of the plaintext of an archived body, before any edit list. @throws `archive_damaged` for a size that no body has */
export function plainSizeOf(bodySize: number): number {
  try {
    return decryptedSize(bodySize);
  } catch (error) {
    throw damaged(`no Crypt4GH body has ${bodySize} bytes`, { cause: error });
  }
}

/** Runs `task`, and names the file in the message of its damage: code that reads bodies and headers knows no name. */
export async function nameDamagedFile<T>(fileId: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (isDamage(error)) error.message = `file ${fileId}: ${error.message}`;
    throw error;
  }
}
