import { createHash } from 'node:crypto';
import type { KeyPair } from '../crypt4gh/index.ts';
import type { AddedFile } from '../ops/archive/add-file.ts';
import { formatBytes } from '../terminal/output.ts';
import type { DirectCaller } from './direct-caller.ts';
import { bytesOf } from './made-files.ts';
import { receive } from './receive.ts';
import { expectThat, type Steps } from './steps.ts';

/** What the steps of direct access go by. */
export interface DirectAccess {
  readonly direct: DirectCaller;
  readonly steps: Steps;
  /** Grants `datasetId`. */
  readonly visa: string;
  readonly datasetId: string;
  /** All files of the dataset. */
  readonly files: readonly AddedFile[];
  /** A file of a dataset that is not released, and that dataset. */
  readonly hidden: { readonly file: AddedFile; readonly datasetId: string };
  readonly recipient: KeyPair;
}

const mebibyte = 1024 * 1024;

/** Direct access on a running engine: list, fetch decrypted, by range and encrypted; then what must be refused. */
export async function demonstrateDirectAccess(access: DirectAccess): Promise<void> {
  await listDirectly(access);
  const [smallest, ...others] = access.files.toSorted((a, b) => a.decryptedSize - b.decryptedSize);
  const largest = others.at(-1);
  const middle = others.at(-2);
  expectThat(smallest !== undefined && middle !== undefined && largest !== undefined, 'too few files to show');
  for (const file of [smallest, largest]) await fetchPlaintext(access, file);
  await fetchRange(access, largest);
  for (const file of [middle, largest]) await fetchContainer(access, file);
  await refuse(access);
}

async function listDirectly({ direct, steps, visa, datasetId, files }: DirectAccess): Promise<void> {
  await steps.run('list the datasets of the visa directly', async () => {
    const value = await direct.datasets(visa);
    expectThat(value.join() === datasetId, `the visa gives access to ${value.join()}`);
    return { value, detail: value.join() };
  });
  await steps.run(`list the files of ${datasetId} directly`, async () => {
    const value = await direct.filesOf(datasetId, visa);
    expectThat(value.length === files.length, `${value.length} files are listed, not ${files.length}`);
    for (const file of files) {
      const listed = value.find(({ fileId }) => fileId === file.fileId);
      const right = listed?.decryptedFileChecksum === file.sha256 && listed.decryptedFileSize === file.decryptedSize;
      expectThat(right, `size or checksum of ${file.fileId} is another one`);
    }
    return { value, detail: `${value.length} files, sizes and checksums are right` };
  });
}

async function fetchPlaintext({ direct, steps, visa }: DirectAccess, file: AddedFile): Promise<void> {
  await steps.run(`fetch ${file.path} decrypted`, async () => {
    const response = await direct.plaintext(file.fileId, visa);
    const { size, sha256 } = await digestOf(response.body ?? []);
    expectThat(response.headers.get('content-length') === String(size), 'Content-Length is another one');
    expectThat(sha256 === file.sha256, 'the SHA-256 of the plaintext is another one');
    return { value: size, detail: `${formatBytes(size)} streamed, SHA-256 ${sha256.slice(0, 16)}… is right` };
  });
}

async function fetchRange({ direct, steps, visa }: DirectAccess, file: AddedFile): Promise<void> {
  const start = Math.floor(file.decryptedSize / 2) + 1;
  const range = { start, end: start + mebibyte };
  await steps.run(`fetch 1 MiB from the middle of ${file.path}`, async () => {
    const response = await direct.plaintext(file.fileId, visa, range);
    const got = await digestOf(response.body ?? []);
    const expected = await digestOf(slice(bytesOf({ path: file.path, size: file.decryptedSize }), range));
    const contentRange = `bytes ${range.start}-${range.end - 1}/${file.decryptedSize}`;
    expectThat(response.headers.get('content-range') === contentRange, 'Content-Range is another one');
    expectThat(got.sha256 === expected.sha256, 'the bytes are not those of the file');
    return { value: got, detail: `206, ${contentRange}, SHA-256 ${got.sha256.slice(0, 16)}… is right` };
  });
}

async function fetchContainer({ direct, steps, visa, recipient }: DirectAccess, file: AddedFile): Promise<void> {
  await steps.run(`fetch ${file.path} as Crypt4GH and decrypt`, async () => {
    const { body, redirected } = await direct.container(file.fileId, visa, recipient.publicKey);
    const got = await receive(body, recipient.privateKey);
    expectThat(got.bodySha256 === file.archivedSha256, 'the body is not the one in the archive');
    expectThat(got.plaintextSha256 === file.sha256, 'the SHA-256 of the plaintext is another one');
    const how = redirected ? 'assembled by S3, by 307 from there' : 'streamed';
    return { value: got, detail: `${formatBytes(got.containerSize)} ${how}, body unchanged, SHA-256 is right` };
  });
}

async function refuse({ direct, steps, visa, files, hidden }: DirectAccess): Promise<void> {
  await steps.run('ask directly for what is not released, and for what does not exist', async () => {
    const paths = [
      `files/${hidden.file.fileId}`,
      'files/EGAF99999999999',
      `metadata/datasets/${hidden.datasetId}/files`,
      'metadata/datasets/EGAD99999999999/files',
    ];
    const refusals = await Promise.all(paths.map((path) => direct.refused(path, visa)));
    expectThat(
      refusals.every(({ status }) => status === 403),
      'not all of it is 403',
    );
    expectThat(new Set(refusals.map(({ problem }) => problem)).size === 1, 'the replies tell one from the other');
    return { value: refusals, detail: `403, all ${refusals.length} alike` };
  });
  await steps.run('ask directly without a visa', async () => {
    const value = await direct.refused(`files/${files[0]?.fileId}`, undefined);
    expectThat(value.status === 401 && value.challenge !== null, `${value.status}, no challenge`);
    return { value, detail: `401, WWW-Authenticate: ${value.challenge}` };
  });
}

async function digestOf(bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
  const hash = createHash('sha256');
  let size = 0;
  for await (const piece of bytes) {
    size += piece.length;
    hash.update(piece);
  }
  return { size, sha256: hash.digest('hex') };
}

/** Bytes [start, end) of a stream. */
async function* slice(bytes: AsyncIterable<Uint8Array>, { start, end }: { start: number; end: number }) {
  let position = 0;
  for await (const piece of bytes) {
    const part = piece.subarray(Math.max(start - position, 0), Math.max(end - position, 0));
    position += piece.length;
    if (part.length > 0) yield part;
    if (position >= end) return;
  }
}
