/** The type of a section with the versions of symbols that a file needs (`SHT_GNU_verneed`). */
const neededVersions = 0x6ffffffe;

interface Section {
  readonly type: number;
  readonly offset: number;
  /** The section of the names. */
  readonly link: number;
}

/**
 * The oldest glibc that runs a program, by the versions of the symbols that it needs.
 *
 * @param file a 64-bit little-endian ELF file
 * @returns such as `2.28`
 * @throws Error if it needs no symbol of glibc
 */
export function oldestGlibc(file: Buffer): string {
  const minors = symbolVersions(file).flatMap((name) => /^GLIBC_2\.(\d+)/.exec(name)?.[1] ?? []);
  if (minors.length === 0) throw new Error('the program needs no symbol of glibc');
  return `2.${Math.max(...minors.map(Number))}`;
}

/** Names such as `GLIBC_2.28`, of all libraries. */
function symbolVersions(file: Buffer): readonly string[] {
  const sections = sectionsOf(file);
  return sections.filter(({ type }) => type === neededVersions).flatMap((section) => namesIn(file, section, sections));
}

function sectionsOf(file: Buffer): readonly Section[] {
  const [start, size, count] = [Number(file.readBigUInt64LE(0x28)), file.readUInt16LE(0x3a), file.readUInt16LE(0x3c)];
  return Array.from({ length: count }, (_, index) => {
    const header = file.subarray(start + index * size);
    return {
      type: header.readUInt32LE(4),
      offset: Number(header.readBigUInt64LE(0x18)),
      link: header.readUInt32LE(0x28),
    };
  });
}

/** A library has a list of versions. Each entry says how many bytes after its own start the next one stands; 0: no more. */
function namesIn(file: Buffer, { offset, link }: Section, sections: readonly Section[]): readonly string[] {
  const strings = file.subarray(sections[link]?.offset);
  const names: string[] = [];
  for (let library = file.subarray(offset), next = -1; next !== 0; library = library.subarray(next)) {
    next = library.readUInt32LE(12);
    let entry = library.subarray(library.readUInt32LE(8));
    for (let count = library.readUInt16LE(2); count > 0; count -= 1) {
      const name = entry.readUInt32LE(8);
      names.push(strings.toString('latin1', name, strings.indexOf(0, name)));
      entry = entry.subarray(entry.readUInt32LE(12));
    }
  }
  return names;
}
