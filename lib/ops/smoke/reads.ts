import { gunzipSync } from 'node:zlib';

/** Two reads of a reference `chr1`, as samtools 1.16 writes them: `first` at position 101, `second` at 100,001. */
export const readsBam = Buffer.from(
  'H4sIBAAAAAAA/wYAQkMCAGAAc3L0ZTRgYGBw8HDhDPOzMtQz4wz2t0rOzy9KycxLLEnlcggO5Az2s0rOKDLk9PGzMjQAAy5GBgYGVgYGhuSMIkMGByd+' +
    'BgCtqRLBSQAAAB+LCAQAAAAAAP8GAEJDAgBiALNkgIAUBgYGNhtPIUYGBgYuBgaG/1DAwMDAkJZZVFzCsICBgUHIQ8hDSAMOrKCaF7QxMrDb+GPVXJya' +
    'nJ+XAtbd4STRoojQDQDYoL1HewAAAB+LCAQAAAAAAP8GAEJDAgAbAAMAAAAAAAAAAAA=',
  'base64',
);

/** Its index, by samtools. */
export const readsBai = Buffer.from(
  'QkFJAQEAAAADAAAASRIAAAEAAAAAAGEAAAAAAD0AYQAAAAAASpIAAAIAAAAAAGEAAAAAAAAAxAAAAAAAAgAAAAAAAAAAAAAAAAAAAE8SAAABAAAAPQBh' +
    'AAAAAAAAAMQAAAAAAAcAAAAAAGEAAAAAAD0AYQAAAAAAPQBhAAAAAAA9AGEAAAAAAD0AYQAAAAAAPQBhAAAAAAA9AGEAAAAAAAAAAAAAAAAA',
  'base64',
);

/** Which of the two reads a BAM has. A name ends with a zero byte (SAMv1 § 4.2). */
export function namesOfReads(bam: Uint8Array): string[] {
  const records = gunzipSync(bam);
  return ['first', 'second'].filter((name) => records.includes(`${name}\0`));
}
