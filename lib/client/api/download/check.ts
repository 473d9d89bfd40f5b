import { ChecksumError } from '../errors.ts';
import { ContainerDigest, loadCrc } from './disk/container-digest.ts';
import { PartDigest } from './disk/part-digest.ts';
import type { ReadableTarget, Target } from './disk/part-file.ts';
import type { Digest, Expectation, Verified } from './expected.ts';
import { ChangedError } from './remote/remote-file.ts';
import type { Edit } from './sink.ts';

/** Compares a file with what is expected of it, while it is written. */
export interface Check extends Target {
  /** Takes the bytes of a container of which only the plaintext is kept: the header at 0 first, then the rest in any order. */
  readonly passing?: ((bytes: Uint8Array, position: number) => void) | undefined;
  /**
   * Call it once, after the last write.
   * @returns `undefined` if too little is expected to call the file verified
   * @throws ChecksumError; LocalDiskError; ClientError `interrupted`; UnseenError; errors of the expectation
   */
  verdict(signal: AbortSignal | undefined): Promise<Verified | undefined>;
}

interface CheckedFile {
  readonly remote: { readonly name: string };
  readonly expected?: Expectation;
  /** Set if the plaintext is kept. */
  readonly decrypt?: unknown;
}

/** Whether the container is compared, and only its plaintext is kept: then each run must see all of its bytes. */
export function isPassing({ expected, decrypt }: CheckedFile): boolean {
  if (decrypt === undefined || expected === undefined || expected instanceof Promise) return false;
  return !('sha256' in expected);
}

/** What is expected came late, and takes bytes of the container that are not kept: begin again. */
export class UnseenError extends ChangedError {}

/** @param part gets the bytes; `undefined` is returned if nothing is expected of them */
export async function checkOf(part: ReadableTarget, file: CheckedFile): Promise<Check | undefined> {
  const { remote, decrypt } = file;
  if (file.expected === undefined) return undefined;
  const later = Promise.resolve(file.expected);
  const verdict = (digest: Digest): Check['verdict'] => {
    return async (signal) => {
      const expected = await later;
      if (expected === undefined) return undefined;
      if (file.expected instanceof Promise && isPassing({ remote, decrypt, expected })) {
        throw new UnseenError(remote.name);
      }
      const different = firstDifference(expected, await digest.found(signal));
      if (different) throw new ChecksumError(remote.name, different, different.kind, expected.receipt);
      if ('sha256' in expected) return 'plaintext';
      return expected.crc64nvme === undefined ? undefined : 'bytes';
    };
  };
  if (isPassing(file)) {
    const digest = new ContainerDigest(new HeaderAlone(), await loadCrc());
    return {
      write: (buffers, position) => part.write(buffers, position),
      passing: (bytes, position) => void digest.write([bytes], position),
      verdict: verdict(digest),
    };
  }
  // The receipts list the SHA-256 of nearly every plaintext.
  const isPlain = file.expected instanceof Promise ? decrypt !== undefined : 'sha256' in file.expected;
  const digest = isPlain ? new PartDigest(part) : new ContainerDigest(part, await loadCrc());
  return { write: (buffers, position) => digest.write(buffers, position), verdict: verdict(digest) };
}

/**
 * The digest of a plaintext does not cover the edit list that cuts it, and anyone who writes the object can add one.
 * @throws ChecksumError if the edit list is in another header than the expected one; errors of the expectation
 */
export async function checkEdit(file: CheckedFile, edit: Edit | undefined): Promise<void> {
  const expected = await file.expected;
  if (edit === undefined || expected === undefined || !('sha256' in expected)) return;
  const { editHeaderSha256: listed = edit.headerSha256, receipt } = expected;
  const sums = { listed, found: edit.headerSha256 };
  if (sums.listed !== sums.found) throw new ChecksumError(file.remote.name, sums, kinds.headerSha256, receipt);
}

/** The first bytes that were written at 0: the header of a container that is not kept. */
class HeaderAlone implements ReadableTarget {
  #header = Buffer.alloc(0);

  async write([first = Buffer.alloc(0)]: readonly Uint8Array[], position: number): Promise<void> {
    if (position === 0) this.#header = Buffer.from(first);
  }

  read = async (position: number, length: number) => this.#header.subarray(position, position + length);
}

const kinds = { sha256: 'SHA-256', size: 'size', headerSha256: 'header SHA-256', crc64nvme: 'CRC-64/NVME' } as const;
type Sums = { readonly [Name in keyof typeof kinds]?: string | number | undefined };

function firstDifference(expected: Sums, found: Sums) {
  for (const name of ['sha256', 'size', 'headerSha256', 'crc64nvme'] as const) {
    const [listed, got] = [expected[name], found[name]];
    if (listed !== undefined && listed !== got) {
      return { kind: kinds[name], listed: String(listed), found: String(got || 'none') };
    }
  }
  return undefined;
}
