/** Most bytes of a file name, on most file systems. */
export const fileNameBytes = 255;

/**
 * Whether Windows keeps this name for itself: for a device, whatever extension it has ("Naming Files, Paths, and Namespaces" in
 * its documentation: CON, PRN, AUX, NUL, COM and LPT with a digit, also with a superscript one), for the console ("Console
 * Handles": CONIN$ and CONOUT$), or for the settings of the folder (desktop.ini).
 */
export function isReservedName(name: string): boolean {
  return /^(?:(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)|desktop\.ini$)/i.test(name);
}

/**
 * A name under which every system can save a file, from untrusted text: one path segment that does not begin with a
 * dot, has no invisible characters, is not reserved, and has at most 255 bytes in UTF-8. A longer name keeps its end,
 * which has the extensions. Each character that is not allowed becomes `_`. The result is never empty; a safe name
 * stays as it is.
 */
export function safeFileName(text: string): string {
  const shown = text.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '');
  const segment = lastBytes(shown.replace(/[<>:"/\\|?*]/g, '_'), fileNameBytes - 1);
  const edged = segment.replace(/^[.\s]+|[.\s]+$/gu, (edge) => '_'.repeat(edge.length));
  return edged === '' || isReservedName(edged) ? `_${edged}` : edged;
}

function lastBytes(text: string, most: number): string {
  const characters = [...text];
  let bytes = Buffer.byteLength(text);
  let start = 0;
  for (; bytes > most; start += 1) bytes -= Buffer.byteLength(characters[start] ?? '');
  return characters.slice(start).join('');
}

/** Prefixes and suffixes that S3 reserves: S3 user guide, general purpose bucket naming rules. */
const reservedPrefixes = ['xn--', 'sthree-', 'amzn-s3-demo-'];
const reservedSuffixes = ['-s3alias', '--ol-s3', '.mrap', '--x-s3', '--table-s3'];

/** The rule of S3 that a bucket's name breaks; `undefined` for a valid name. */
export function bucketNameFault(name: string): string | undefined {
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name)) {
    return '3-63 of a-z, 0-9, dots and dashes, a letter or digit at both ends';
  }
  if (name.includes('..')) return 'no two dots together';
  if (/^\d+\.\d+\.\d+\.\d+$/.test(name)) return 'no IP address';
  const prefix = reservedPrefixes.find((reserved) => name.startsWith(reserved));
  if (prefix !== undefined) return `S3 keeps names that begin with ${prefix} for itself`;
  const suffix = reservedSuffixes.find((reserved) => name.endsWith(reserved));
  return suffix === undefined ? undefined : `S3 keeps names that end with ${suffix} for itself`;
}
