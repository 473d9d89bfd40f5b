/**
 * A Windows program without its signature (PE format, "Attribute Certificate Table"). The signature stands at the end of the
 * file and would no longer fit after a change.
 * @param file a 64-bit program
 */
export function withoutSignature(file: Buffer): Buffer {
  const header = file.readUInt32LE(0x3c) + 24;
  if (file.readUInt16LE(header) !== 0x20b) throw new Error('expected a 64-bit Windows program');
  const directory = header + 112 + 4 * 8;
  const [start, size] = [file.readUInt32LE(directory), file.readUInt32LE(directory + 4)];
  if (start + size !== file.length && size > 0) throw new Error('expected the signature at the end of the program');
  const unsigned = Buffer.from(file.subarray(0, size > 0 ? start : file.length));
  unsigned.fill(0, directory, directory + 8);
  // A checksum of 0 is none: Windows checks that of drivers only.
  unsigned.writeUInt32LE(0, header + 64);
  return unsigned;
}
