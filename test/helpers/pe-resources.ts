/** The offset in the file of a section's part of memory. */
function fileOffset(file: Buffer, address: number): number {
  const header = file.readUInt32LE(0x3c) + 4;
  const first = header + 20 + file.readUInt16LE(header + 16);
  for (let section = first; section < first + 40 * file.readUInt16LE(header + 2); section += 40) {
    const [size, start, , position] = [8, 12, 16, 20].map((at) => file.readUInt32LE(section + at)) as number[];
    if (address >= start! && address < start! + size!) return address - start! + position!;
  }
  throw new Error(`no section has the address ${address}`);
}

/** The address and size of a data directory of a 64-bit Windows program: 2 is that of resources, 4 that of signatures. */
export function peDirectory(file: Buffer, index: number): readonly [address: number, size: number] {
  const at = file.readUInt32LE(0x3c) + 24 + 112 + 8 * index;
  return [file.readUInt32LE(at), file.readUInt32LE(at + 4)];
}

/** Raw data (type 10) of the resources of a Windows program, by name (PE format, "The .rsrc Section"). */
export function peResource(file: Buffer, name: string): Buffer | undefined {
  const tree = file.subarray(fileOffset(file, peDirectory(file, 2)[0]));
  /** Name or number of each entry, and where its node is; the highest bit tells a name, and a node that is not a leaf. */
  const entries = (table: number) => {
    const count = tree.readUInt16LE(table + 12) + tree.readUInt16LE(table + 14);
    return Array.from({ length: count }, (_, index) => {
      const [key, node] = [0, 4].map((at) => tree.readUInt32LE(table + 16 + 8 * index + at)) as [number, number];
      const text = key & 0x7fffffff;
      const named = key > 0x7fffffff && tree.toString('utf16le', text + 2, text + 2 + 2 * tree.readUInt16LE(text));
      return { key: named || key, node: node & 0x7fffffff };
    });
  };
  const find = (table: number, wanted: string | number) => entries(table).find(({ key }) => key === wanted)?.node;
  const names = find(0, 10);
  const languages = names === undefined ? undefined : find(names, name);
  if (languages === undefined) return undefined;
  const leaf = entries(languages)[0]!.node;
  const start = fileOffset(file, tree.readUInt32LE(leaf));
  return file.subarray(start, start + tree.readUInt32LE(leaf + 4));
}
