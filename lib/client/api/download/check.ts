import { ChecksumError } from '../errors.ts';
import { ContainerDigest, loadCrc } from './disk/container-digest.ts';
import type { ReadableTarget, Target } from './disk/part-file.ts';
import type { Expectation, Verified } from './expected.ts';

/** Compares a container with what is expected of it, while it is written. */
export interface Check extends Target {
  /**
   * Call it once, after the last write.
   * @returns `undefined` if too little is expected to call the file verified
   * @throws ChecksumError; LocalDiskError; ClientError `interrupted`; errors of the expectation
   */
  verdict(signal: AbortSignal | undefined): Promise<Verified | undefined>;
}

/** @param part gets the bytes; `undefined` is returned if nothing is expected of them */
export async function checkOf(
  part: ReadableTarget,
  name: string,
  expectation: Expectation,
): Promise<Check | undefined> {
  if (expectation === undefined) return undefined;
  const digest = new ContainerDigest(part, await loadCrc());
  return {
    write: (buffers, position) => digest.write(buffers, position),
    async verdict(signal) {
      const expected = await expectation;
      if (expected === undefined) return undefined;
      const different = firstDifference(expected, await digest.found(signal));
      if (different) throw new ChecksumError(name, different, expected.receipt);
      return expected.crc64nvme === undefined ? undefined : 'bytes';
    },
  };
}

const kinds = { size: 'size', headerSha256: 'header SHA-256', crc64nvme: 'CRC-64/NVME' } as const;
type Sums = { readonly [Name in keyof typeof kinds]?: string | number | undefined };

function firstDifference(expected: Sums, found: Sums) {
  for (const name of ['size', 'headerSha256', 'crc64nvme'] as const) {
    const [listed, got] = [expected[name], found[name]];
    if (listed !== undefined && listed !== got) {
      return { kind: kinds[name], listed: String(listed), found: String(got || 'none') };
    }
  }
  return undefined;
}
