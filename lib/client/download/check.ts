import { ChecksumError } from '../errors.ts';
import { ContainerDigest } from './disk/container-digest.ts';
import { loadCrc } from './disk/crc.ts';
import { PartDigest } from './disk/part-digest.ts';
import type { ReadableTarget, Target } from './disk/part-file.ts';
import type { Digest, Expected, Verified } from './expected.ts';

/** Compares a file with what is expected of it, while it is written. */
export interface Check extends Target {
  /**
   * Call it once, after the last write.
   *
   * @param modified time of the remote file
   * @returns `undefined` if the file differs, but was replaced after the expectation was made
   * @throws ChecksumError; LocalDiskError; ClientError `interrupted`
   */
  verdict(modified: Date | undefined, signal: AbortSignal | undefined): Promise<Verified | undefined>;
}

/** @param part gets the bytes; `undefined` is returned if nothing is expected of them */
export async function checkOf(
  part: ReadableTarget,
  file: { readonly remote: { readonly name: string }; readonly expected?: Expected | undefined },
): Promise<Check | undefined> {
  const { expected, remote } = file;
  if (expected === undefined) return undefined;
  const digest: Digest = 'sha256' in expected ? new PartDigest(part) : new ContainerDigest(part, await loadCrc());
  return {
    write: (buffers, position) => digest.write(buffers, position),
    async verdict(modified, signal) {
      const different = firstDifference(expected, await digest.found(signal));
      if (different === undefined) return 'sha256' in expected ? 'plaintext' : 'bytes';
      const { asOf, source } = expected;
      if (asOf !== undefined && modified !== undefined && modified > asOf) return undefined;
      throw new ChecksumError(remote.name, different, different.kind, source);
    },
  };
}

const kinds = { sha256: 'SHA-256', headerSha256: 'header SHA-256', crc64nvme: 'CRC-64/NVME' } as const;
type Sums = { readonly [Name in keyof typeof kinds]?: string | undefined };

function firstDifference(expected: Sums, found: Sums) {
  for (const name of ['sha256', 'headerSha256', 'crc64nvme'] as const) {
    const [listed = '', got = ''] = [expected[name], found[name]];
    if (listed !== got) return { kind: kinds[name], listed, found: got || 'none' };
  }
  return undefined;
}
