import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ListedFile, ProxyApi } from '../../client/api/delivery-api.ts';
import { StagedFile } from '../../client/api/download/staged-file.ts';
import { decrypt, encrypt, headerLength, type KeyPair } from '../../crypt4gh/index.ts';
import { idPart } from '../../service/containers/container-name.ts';
import { type AddedFile, type AddFileRequest, addFile } from '../archive/add-file.ts';
import type { Target } from '../target.ts';
import { expectThat } from './steps.ts';

/** A file of a run, and what the archive made of it. */
export interface ArchivedFile extends AddedFile {
  readonly content: Buffer;
}

/** A file to make. */
export interface MadeFile {
  readonly path: string;
  /** The plaintext; a number: so many random bytes. */
  readonly content: Buffer | number;
  /** How the archive gets it. */
  readonly form: 'plaintext' | 'Crypt4GH';
}

/** Make a file and put it into the archive. @throws OpsError `verification_failed` if the archive has other bytes */
export async function archiveFile(
  target: Pick<Target, 'bodies' | 'catalogue'>,
  { content: made, form, ...request }: MadeFile & Omit<AddFileRequest, 'input'>,
): Promise<ArchivedFile> {
  const content = typeof made === 'number' ? randomBytes(made) : made;
  const plain = Readable.from([content]);
  const bytes = form === 'Crypt4GH' ? encrypt(plain, { recipients: [request.keys[0].publicKey] }) : plain;
  const added = await addFile(target, { ...request, input: { label: request.path, size: undefined, bytes } });
  const { length } = content;
  expectThat(added.decryptedSize === length, `${added.decryptedSize} bytes were archived, not ${length}`);
  expectThat(added.sha256 === sha256(content), 'the SHA-256 of what was archived is another one');
  return { ...added, content };
}

/** Download and decrypt a staged file. @throws OpsError `verification_failed`; ClientError; Crypt4ghError */
export async function expectStaged(
  proxy: ProxyApi,
  { file, listed, recipient }: { file: ArchivedFile; listed: readonly ListedFile[]; recipient: KeyPair },
  signal: AbortSignal,
): Promise<void> {
  const found = listed.find(({ name }) => name.startsWith(`${idPart(file.fileId)}-`));
  expectThat(found !== undefined, `no listed file is ${file.fileId}`);
  const container = await new StagedFile(proxy, found).read(0, found.size, { signal });
  await expectContainer(container, file, recipient.privateKey);
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
