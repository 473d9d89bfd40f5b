import { randomInt, randomUUID } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import { encryptedBodySize } from '../../crypt4gh/index.ts';
import type { ArchiveKey } from '../../service/archive/ports.ts';
import type { InventoryFile } from '../catalogue/inventory.ts';
import type { ArchiveRegistration } from '../catalogue/writer.ts';
import { OpsError } from '../errors.ts';
import type { Target } from '../target.ts';
import { encryptForArchive, lookAt, type SplitContainer, splitForArchive } from './container.ts';
import type { Input } from './input.ts';
import { abortable, Counter } from './streams.ts';

/** Bytes of the largest body: header and body must fit one S3 object (10,000 parts of 5 GiB). */
export const maxBodyBytes = 10_000 * 5 * 2 ** 30 - limits.headerBytes;

export interface AddFileRequest {
  readonly datasetId: string;
  /** Stable id; by default a new local one. */
  readonly fileId?: string;
  /** The file's path, as researchers see it. */
  readonly path: string;
  readonly input: Pick<Input, 'label' | 'size' | 'bytes'>;
  /** The archive's keys, newest first. A plaintext is encrypted to the first. */
  readonly keys: readonly [ArchiveKey, ...ArchiveKey[]];
  readonly signal?: AbortSignal;
  /** Begins the key of the body in the bucket. @default - nothing */
  readonly bodyPrefix?: string;
  /** Called with the size of every chunk that was read. */
  readonly onRead?: (bytes: number) => void;
}

export interface AddedFile {
  readonly fileId: string;
  readonly datasetId: string;
  readonly path: string;
  /**
   * `added`: a new file. `linked`: the archive had this file, and now it is also in this dataset. `unchanged`: it was
   * in this dataset already.
   */
  readonly status: 'added' | 'linked' | 'unchanged';
  /** Bytes and hex SHA-256 of the plaintext. */
  readonly decryptedSize: number;
  readonly sha256: string;
  /** Bytes of the body in the archive. */
  readonly archivedSize: number;
  /** Hex SHA-256 of the body, for `added`. */
  readonly archivedSha256?: string;
}

/**
 * Add one file to the archive, in constant memory. The catalogue gets a row when the body is whole in the bucket, and a
 * body that the catalogue refuses is removed again: a failure leaves nothing half done.
 * A file id that is known is never stored twice. With the same path and plaintext the file is linked to the dataset;
 * with others it is refused.
 * @throws OpsError `conflict`, `too_large`, `unusable_input`; InterruptedError; Crypt4ghError for a malformed container
 */
export async function addFile(
  target: Pick<Target, 'bodies' | 'catalogue'>,
  request: AddFileRequest,
): Promise<AddedFile> {
  const { catalogue } = target;
  const known = request.fileId === undefined ? undefined : await catalogue.findFile(request.fileId);
  const fileId = request.fileId ?? (await newFileId(catalogue));
  const container = await prepare(request);
  if (known) return await linkKnown(catalogue, known, container, request);

  const archiveFilePath = `${request.bodyPrefix ?? ''}${randomUUID()}`;
  const archived = new Counter();
  const expectedSize = request.input.size === undefined ? undefined : encryptedBodySize(request.input.size);
  const { size } = await target.bodies.upload(archiveFilePath, archived.count(container.body), expectedSize);
  const { header, keyHash, plain, uploaded } = container;
  const file: ArchiveRegistration = {
    fileId,
    datasetId: request.datasetId,
    submissionFilePath: request.path,
    submissionFileSize: uploaded.size,
    archiveFilePath,
    archiveLocation: target.bodies.location,
    archiveFileSize: size,
    decryptedFileSize: plain.size,
    header,
    keyHash,
    checksums: [
      { source: 'UNENCRYPTED', type: 'SHA256', checksum: plain.digest },
      { source: 'ARCHIVED', type: 'SHA256', checksum: archived.digest },
      { source: 'UPLOADED', type: 'SHA256', checksum: uploaded.digest },
    ],
  };
  await enter(target, file, request);
  return {
    ...{ fileId, datasetId: request.datasetId, path: request.path },
    ...{ decryptedSize: plain.size, sha256: plain.digest },
    ...{ archivedSize: size, archivedSha256: archived.digest },
    status: 'added',
  };
}

async function prepare(request: AddFileRequest): Promise<SplitContainer> {
  const { bytes, size } = request.input;
  if (size !== undefined && encryptedBodySize(size) > maxBodyBytes) {
    const message = `the encrypted body would be larger than ${maxBodyBytes} bytes, the limit of S3`;
    throw new OpsError('too_large', message);
  }
  const looked = await lookAt(counted(request.signal ? abortable(bytes, request.signal) : bytes, request));
  if (looked.isContainer) return await splitForArchive(looked.bytes, request.keys);
  return encryptForArchive(looked.bytes, request.keys[0]);
}

/** The same bytes, reported to `onRead`. A file that grows or shrinks while it is read is refused. */
async function* counted(source: AsyncIterable<Uint8Array>, { input, onRead }: AddFileRequest) {
  let read = 0;
  for await (const chunk of source) {
    read += chunk.length;
    onRead?.(chunk.length);
    yield chunk;
  }
  if (input.size !== undefined && read !== input.size) {
    throw new OpsError('unusable_input', `${input.label} changed while it was read: ${read} bytes, not ${input.size}`);
  }
}

async function linkKnown(
  catalogue: Target['catalogue'],
  known: InventoryFile,
  container: SplitContainer,
  { datasetId, path }: AddFileRequest,
): Promise<AddedFile> {
  const { fileId, decryptedFileSize: decryptedSize, archiveFileSize: archivedSize } = known;
  const remedy = `data-out-ops archive show ${fileId} shows it`;
  const taken = (by: string) => new OpsError('conflict', `file id ${fileId} is taken by a file ${by}: ${remedy}`);
  if (known.submissionFilePath !== path) throw taken('of another path');
  if (known.unencryptedSha256 === undefined) throw taken('whose SHA-256 the catalogue does not have');
  for await (const _ of container.body);
  const sha256 = container.plain.digest;
  if (known.unencryptedSha256 !== sha256) throw taken('of other content');
  const there = known.datasetIds.includes(datasetId);
  if (!there) await catalogue.addToDataset(fileId, datasetId);
  return { fileId, datasetId, path, decryptedSize, sha256, archivedSize, status: there ? 'unchanged' : 'linked' };
}

/** Enter the file in the catalogue, or remove its body. */
async function enter(
  { bodies, catalogue }: Pick<Target, 'bodies' | 'catalogue'>,
  file: ArchiveRegistration,
  request: AddFileRequest,
): Promise<void> {
  try {
    request.signal?.throwIfAborted();
    await catalogue.registerFile(file);
  } catch (error) {
    // A lost answer is not a refusal. If the row exists, the file was added.
    const left = (why: string) => () => {
      const message = `${why}; body ${file.archiveFilePath} is left in the archive bucket`;
      throw new OpsError('conflict', message, { cause: error });
    };
    const entered = await catalogue.findFile(file.fileId).catch(left('whether the file is catalogued is not known'));
    if (entered?.archiveFilePath === file.archiveFilePath) return;
    await bodies.remove(file.archiveFilePath).catch(left('the file is not catalogued'));
    throw error;
  }
}

/** A stable id that is not in the catalogue yet. */
async function newFileId(catalogue: Target['catalogue']): Promise<string> {
  for (;;) {
    const id = localFileId();
    if (!(await catalogue.findFile(id))) return id;
  }
}

/** A local id, which is none of the central archive's. */
export function localFileId(): string {
  return `EGAF9${String(randomInt(10 ** 10)).padStart(10, '0')}`;
}
