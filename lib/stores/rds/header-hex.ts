import { ArchiveDamagedError } from '../../errors.ts';

/** The column `sda.files.header`: hex of the whole Crypt4GH header. @throws ArchiveDamagedError for anything else. */
export function headerBytes(hex: string, fileId: string): Uint8Array {
  // Buffer.from would silently stop at the first character that is not hex.
  if (hex.length % 2 !== 0 || !/^[0-9a-f]+$/i.test(hex)) {
    throw new ArchiveDamagedError(`the header of file ${fileId} is not hexadecimal in the catalogue`);
  }
  return new Uint8Array(Buffer.from(hex, 'hex'));
}

/** The reverse of {@link headerBytes}. */
export function headerHex(header: Uint8Array): string {
  return Buffer.from(header.buffer, header.byteOffset, header.byteLength).toString('hex');
}
