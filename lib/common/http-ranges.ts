/** Bytes [start, end) of a representation. */
export interface SelectedRange {
  readonly start: number;
  readonly end: number;
}

/** Entity tags of a list, with `W/` and quotes (RFC 9110 § 8.8.3). */
const entityTags = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/** Whether a list of entity tags, or `*`, names this strong one (RFC 9110 § 8.8.3.2). */
export function namesEtag(list: string, etag: string, compared: 'strongly' | 'weakly' = 'strongly'): boolean {
  const form = (tag: string) => (compared === 'weakly' ? tag.replace(/^W\//, '') : tag);
  return list.trim() === '*' || (list.match(entityTags) ?? []).some((tag) => form(tag) === etag);
}

/**
 * The bytes that a `Range` header selects of `size` bytes (RFC 9110 § 14.1.2, § 14.2).
 *
 * @returns `undefined` when the header is ignored and the whole goes out: no header, another unit, several ranges, a malformed
 * one, or a suffix of an empty file; `unsatisfiable` when the range begins after the end, or is a suffix of 0 bytes
 */
export function selectedRange(value: string | undefined, size: number): SelectedRange | 'unsatisfiable' | undefined {
  const set = /^bytes=(.*)$/is.exec(value ?? '')?.[1];
  // A list may have empty members, and white space around them (RFC 9110 § 5.6.1.2).
  const specs =
    set
      ?.split(',')
      .map((spec) => spec.trim())
      .filter((spec) => spec !== '') ?? [];
  const [, first, last] = /^(\d*)-(\d*)$/.exec(specs.length === 1 ? (specs[0] ?? '') : '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') return suffix(Number(last), size);
  // BigInt: a client may ask for everything by a last position of many digits.
  if (last !== '' && BigInt(last) < BigInt(first)) return undefined;
  const start = Number(first);
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}

function suffix(length: number, size: number): SelectedRange | 'unsatisfiable' | undefined {
  if (length === 0) return 'unsatisfiable';
  // Satisfiable by the standard, though `Content-Range` has no way to say "0 bytes".
  if (size === 0) return undefined;
  return { start: Math.max(0, size - length), end: size };
}
