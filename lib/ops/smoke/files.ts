import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { decrypt, encrypt, headerLength } from '../../crypt4gh/index.ts';
import { type AddedFile, type AddFileRequest, addFile } from '../archive/add-file.ts';
import type { Target } from '../target.ts';
import { expectThat } from './expect-that.ts';

/** A file of a run, and what the archive made of it. */
export interface ArchivedFile extends AddedFile {
  readonly content: Buffer;
}

/** A file to make. */
interface MadeFile {
  readonly path: string;
  /** The plaintext; a number: so many random bytes. */
  readonly content: Buffer | number;
  readonly isContainer?: boolean;
}

/** Make a file and put it into the archive. @throws OpsError `verification_failed` if the archive has other bytes */
export async function archiveFile(
  target: Pick<Target, 'bodies' | 'catalogue'>,
  { content: made, isContainer = false, ...request }: MadeFile & Omit<AddFileRequest, 'input'>,
): Promise<ArchivedFile> {
  const content = typeof made === 'number' ? randomBytes(made) : made;
  const plain = Readable.from([content]);
  const bytes = isContainer ? encrypt(plain, { recipients: [request.keys[0].publicKey] }) : plain;
  const added = await addFile(target, { ...request, input: { label: request.path, size: undefined, bytes } });
  const isSame = added.decryptedSize === content.length && added.sha256 === sha256(content);
  expectThat(isSame, `${request.path}: size or SHA-256 of what was archived is another one`);
  return { ...added, content };
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
  const body = container.subarray(headerLength(container) ?? container.length);
  expectThat(sha256(body) === file.archivedSha256, `the body of ${file.path} is not the one in the archive`);
  const plaintext = await buffer(decrypt([container], { privateKeys: [privateKey] }));
  expectThat(sha256(plaintext) === file.sha256, `the plaintext of ${file.path} is another one`);
}
