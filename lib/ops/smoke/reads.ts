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

/** Names of the reads of a BAM (SAMv1 § 4.2). */
export function namesOfReads(bam: Uint8Array): string[] {
  const plain = gunzipSync(bam);
  let at = 8 + plain.readInt32LE(4);
  const references = plain.readInt32LE(at);
  at += 4;
  for (let reference = 0; reference < references; reference += 1) at += 8 + plain.readInt32LE(at);
  const names: string[] = [];
  for (; at < plain.length; at += 4 + plain.readInt32LE(at)) {
    names.push(plain.toString('latin1', at + 36, at + 35 + plain.readUInt8(at + 12)));
  }
  return names;
}
