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
