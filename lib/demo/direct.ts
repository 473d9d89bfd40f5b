import { buffer } from 'node:stream/consumers';
import { directContainer } from '../client/download/remote/direct-file.ts';
import { StagedFile } from '../client/download/remote/staged-file.ts';
import type { KeyPair } from '../crypt4gh/index.ts';
import { formatBytes } from '../terminal/output.ts';
import { type ArchivedFile, expectContainer, sha256 } from './files.ts';
import { expectThat, type Steps } from './steps.ts';
import type { Users } from './users.ts';

/** What the steps of direct access go by. */
export interface DirectAccess {
  readonly users: Users;
  readonly steps: Steps;
  readonly signal: AbortSignal;
  /** Grants `datasetId`. */
  readonly visa: string;
  readonly datasetId: string;
  /** All files of the dataset. */
  readonly files: readonly ArchivedFile[];
  /** A file of a dataset that is not released, and that dataset. */
  readonly hidden: { readonly file: ArchivedFile; readonly datasetId: string };
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

async function listDirectly({ users, steps, signal, visa, datasetId, files, hidden }: DirectAccess): Promise<void> {
  const direct = users.program(visa);
  await steps.run('list the datasets of the visa directly', async () => {
    const value = await direct.datasets({ signal });
    const right = value.includes(datasetId) && !value.includes(hidden.datasetId);
    expectThat(right, `the visa gives access to ${value.join()}`);
    return { value, detail: value.join() };
  });
  await steps.run('list its files directly', async () => {
    const value = await direct.files(datasetId, { signal });
    expectThat(value.length === files.length, `${value.length} files are listed, not ${files.length}`);
    for (const file of files) {
      const listed = value.find(({ fileId }) => fileId === file.fileId);
      const right = listed?.checksum?.value === file.sha256 && listed.size === file.decryptedSize;
      expectThat(right, `size or checksum of ${file.fileId} is another one`);
    }
    return { value, detail: `${value.length} files, sizes and checksums are right` };
  });
}

async function fetchPlaintext({ users, steps, signal, visa }: DirectAccess, file: ArchivedFile): Promise<void> {
  await steps.run(`fetch ${file.path} decrypted`, async () => {
    const reply = await users.program(visa).request(file.fileId, {}, { signal });
    const plaintext = await buffer(reply.body);
    expectThat(reply.header('content-length') === String(plaintext.length), 'Content-Length is another one');
    expectThat(sha256(plaintext) === file.sha256, 'the SHA-256 of the plaintext is another one');
    return { value: undefined, detail: `${formatBytes(plaintext.length)} streamed, SHA-256 is right` };
  });
}

async function fetchRange({ users, steps, signal, visa }: DirectAccess, file: ArchivedFile): Promise<void> {
  const start = Math.floor(file.decryptedSize / 2) + 1;
  const end = start + mebibyte;
  await steps.run(`fetch 1 MiB of ${file.path}`, async () => {
    const headers = { range: `bytes=${start}-${end - 1}` };
    const reply = await users.program(visa).request(file.fileId, {}, { headers, signal });
    const got = await buffer(reply.body);
    const contentRange = `bytes ${start}-${end - 1}/${file.decryptedSize}`;
    expectThat(reply.status === 206, `the range was answered with ${reply.status}`);
    expectThat(reply.header('content-range') === contentRange, 'Content-Range is another one');
    expectThat(got.equals(file.content.subarray(start, end)), 'the bytes are not those of the file');
    return { value: undefined, detail: `206, ${contentRange}` };
  });
}

async function fetchContainer(access: DirectAccess, file: ArchivedFile): Promise<void> {
  const { users, steps, signal, visa, recipient } = access;
  await steps.run(`fetch ${file.path} as Crypt4GH`, async () => {
    const query = { publicKey: Buffer.from(recipient.publicKey).toString('base64') };
    const remote = await directContainer(users.program(visa), { fileId: file.fileId, query }, { signal });
    const container = await buffer((await remote.get({ signal })).bytes);
    await expectContainer(container, file, recipient.privateKey);
    const how = remote instanceof StagedFile ? 'assembled by S3' : 'streamed';
    return { value: undefined, detail: `${how}, SHA-256 is right` };
  });
}

async function refuse(access: DirectAccess): Promise<void> {
  const { steps, visa, files, hidden } = access;
  await steps.run('ask for what is not released or not there', async () => {
    const paths = [
      `files/${hidden.file.fileId}`,
      'files/EGAF99999999999',
      `metadata/datasets/${hidden.datasetId}/files`,
      'metadata/datasets/EGAD99999999999/files',
    ];
    const refusals = await Promise.all(paths.map((path) => refusal(access, path, { authorization: `Bearer ${visa}` })));
    expectThat(
      refusals.every(({ status }) => status === 403),
      'not all of it is 403',
    );
    expectThat(new Set(refusals.map(({ problem }) => problem)).size === 1, 'the replies tell one from the other');
    return { value: undefined, detail: `403, all ${refusals.length} alike` };
  });
  await steps.run('ask without a visa', async () => {
    const { status, challenge } = await refusal(access, `files/${files[0]?.fileId}`, {});
    expectThat(status === 401 && challenge !== undefined, `${status}, no challenge`);
    return { value: undefined, detail: `401, WWW-Authenticate: ${challenge}` };
  });
}

/** One reply as it is on the wire, with the problem document less its request id as one text. */
async function refusal({ users, visa, signal }: DirectAccess, path: string, headers: Record<string, string>) {
  const url = new URL(path, users.program(visa).connection.dataOutUrl);
  const reply = await users.transport.send({ url, headers, signal });
  const { requestId: _, ...problem } = JSON.parse(await reply.text()) as Record<string, unknown>;
  return { status: reply.status, challenge: reply.header('www-authenticate'), problem: JSON.stringify(problem) };
}
