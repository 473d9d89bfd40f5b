import { buffer } from 'node:stream/consumers';
import { formatBytes } from '../../../terminal/output.ts';
import type { Check } from '../check.ts';
import { type ArchivedFile, expectContainer, sha256 } from '../files.ts';
import type { Run } from '../run.ts';
import { expectThat } from '../steps.ts';
import { needsDirectAccess } from './routes.ts';

const mebibyte = 1024 * 1024;

export const direct: Check = {
  id: 'direct',
  title: 'direct access lists, decrypts, cuts, encrypts and refuses',
  needs: ['archive', 'visa'],
  remedy: 'Check the log of the function behind the route of the named step.',
  inSteps: true,
  async run(run) {
    needsDirectAccess(run);
    await listDirectly(run);
    const [smallest, ...others] = run.files.toSorted((a, b) => a.decryptedSize - b.decryptedSize);
    const largest = others.at(-1);
    const middle = others.at(-2);
    expectThat(smallest !== undefined && middle !== undefined && largest !== undefined, 'too few files to show');
    for (const file of [smallest, largest]) await fetchPlaintext(run, file);
    await fetchRange(run, largest);
    for (const file of [middle, largest]) await fetchContainer(run, file);
    await refuse(run);
    return 'every step holds';
  },
};

async function listDirectly({ program, steps, ids, files }: Run): Promise<void> {
  await steps('list the datasets directly', async () => {
    const granted = await program().datasets();
    const right = granted.includes(ids.datasetId) && !granted.includes(ids.hiddenId);
    expectThat(right, `the visa gives access to ${granted.join()}`);
    return granted.join();
  });
  await steps('list its files directly', async () => {
    const listed = await program().files(ids.datasetId);
    expectThat(listed.length === files.length, `${listed.length} files are listed, not ${files.length}`);
    for (const file of files) {
      const found = listed.find(({ fileId }) => fileId === file.fileId);
      const right = found?.decryptedFileChecksum === file.sha256 && found.decryptedFileSize === file.decryptedSize;
      expectThat(right, `size or checksum of ${file.fileId} is another one`);
    }
    return `${listed.length} files, sizes and checksums are right`;
  });
}

function pathOf({ fileId }: ArchivedFile): string {
  return `files/${encodeURIComponent(fileId)}`;
}

async function fetchPlaintext({ program, steps }: Run, file: ArchivedFile): Promise<void> {
  await steps(`fetch ${file.path} decrypted`, async () => {
    const reply = await program().get(pathOf(file));
    const plaintext = await buffer(reply.body);
    expectThat(reply.header('content-length') === String(plaintext.length), 'Content-Length is another one');
    expectThat(sha256(plaintext) === file.sha256, 'the SHA-256 of the plaintext is another one');
    return `${formatBytes(plaintext.length)} streamed, SHA-256 is right`;
  });
}

async function fetchRange({ program, steps }: Run, file: ArchivedFile): Promise<void> {
  const start = Math.floor(file.decryptedSize / 2) + 1;
  const end = start + mebibyte;
  await steps(`fetch 1 MiB of ${file.path}`, async () => {
    const reply = await program().get(pathOf(file), { range: `bytes=${start}-${end - 1}` });
    const got = await buffer(reply.body);
    const contentRange = `bytes ${start}-${end - 1}/${file.decryptedSize}`;
    expectThat(reply.status === 206, `the range was answered with ${reply.status}`);
    expectThat(reply.header('content-range') === contentRange, 'Content-Range is another one');
    expectThat(got.equals(file.content.subarray(start, end)), 'the bytes are not those of the file');
    return `206, ${contentRange}`;
  });
}

async function fetchContainer({ program, steps, recipient }: Run, file: ArchivedFile): Promise<void> {
  await steps(`fetch ${file.path} as Crypt4GH`, async () => {
    const { by, reply } = await program().container(file.fileId, recipient.publicKey);
    await expectContainer(await buffer(reply.body), file, recipient.privateKey);
    return `${by === 'storage' ? 'assembled by S3' : 'streamed'}, SHA-256 is right`;
  });
}

async function refuse(run: Run): Promise<void> {
  const { steps, files, hidden, ids } = run;
  await steps('ask for what is not released or not there', async () => {
    expectThat(hidden !== undefined, 'no file that is not released was archived');
    const paths = [
      `files/${hidden.fileId}`,
      'files/EGAF99999999999',
      `metadata/datasets/${ids.hiddenId}/files`,
      'metadata/datasets/EGAD99999999999/files',
    ];
    const refusals = await Promise.all(paths.map((path) => refusal(run, path, run.asReader)));
    expectThat(
      refusals.every(({ status }) => status === 403),
      'not all of it is 403',
    );
    expectThat(new Set(refusals.map(({ problem }) => problem)).size === 1, 'the replies tell one from the other');
    return `403, all ${refusals.length} alike`;
  });
  await steps('ask without a visa', async () => {
    const { status, challenge } = await refusal(run, `files/${files[0]?.fileId}`, {});
    expectThat(status === 401 && challenge !== undefined, `${status}, no challenge`);
    return `401, WWW-Authenticate: ${challenge}`;
  });
}

/** One reply as it is on the wire, with the problem document less its request id as one text. */
async function refusal(run: Run, path: string, headers: Readonly<Record<string, string>>) {
  const reply = await run.send({ api: 'data-out', path, headers });
  const { requestId: _, ...problem } = JSON.parse(await reply.text()) as Record<string, unknown>;
  return { status: reply.status, challenge: reply.header('www-authenticate'), problem: JSON.stringify(problem) };
}
