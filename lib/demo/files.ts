import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { decrypt, headerLength } from '../crypt4gh/index.ts';
import type { AddedFile } from '../ops/archive/add-file.ts';
import { expectThat } from './steps.ts';

/** A file of the demonstration, and what the archive made of it. */
export interface ArchivedFile extends AddedFile {
  readonly content: Buffer;
}

/** Hex. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * Opens a container and compares body and plaintext with what was archived.
 *
 * @throws OpsError `verification_failed`; Crypt4ghError
 */
export async function expectContainer(container: Buffer, file: ArchivedFile, privateKey: Uint8Array): Promise<void> {
  const headerSize = headerLength(container) ?? container.length;
  expectThat(sha256(container.subarray(headerSize)) === file.archivedSha256, 'the body is not the one in the archive');
  const plaintext = await buffer(decrypt([container], { privateKeys: [privateKey] }));
  expectThat(sha256(plaintext) === file.sha256, 'the SHA-256 of the plaintext is another one');
}
