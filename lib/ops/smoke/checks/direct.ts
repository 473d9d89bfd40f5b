import { formatBytes } from '../../../terminal/output.ts';
import { type Check, needsDirectApi } from '../check.ts';
import { type ArchivedFile, expectContainer, sha256 } from '../files.ts';
import type { Run } from '../run.ts';
import { expectThat } from '../steps.ts';

const mebibyte = 1024 * 1024;

export const direct: Check = {
  id: 'direct',
  title: 'direct access lists, decrypts, cuts, encrypts and refuses',
  needs: ['archive', 'visa'],
  remedy: 'Check the log of the function behind the route of the named step.',
  inSteps: true,
  async run(run) {
    needsDirectApi(run);
    const { steps, ids, files, large, awkward } = run;
    await steps('list the datasets directly', async () => {
      const granted: string[] = JSON.parse((await get(run, 'metadata/datasets')).text);
      const isRight = granted.includes(ids.datasetId) && !granted.includes(ids.hiddenId);
      expectThat(isRight, `the visa gives access to ${granted.join()}`);
      return granted.join();
    });
    await steps('list its files directly', async () => {
      const { text } = await get(run, `metadata/datasets/${encodeURIComponent(ids.datasetId)}/files`);
      const listed: { fileId: string; decryptedFileSize: number; decryptedFileChecksum: string }[] = JSON.parse(text);
      expectThat(listed.length === files.length, `${listed.length} files are listed, not ${files.length}`);
      for (const file of files) {
        const found = listed.find(({ fileId }) => fileId === file.fileId);
        const isRight = found?.decryptedFileChecksum === file.sha256 && found.decryptedFileSize === file.decryptedSize;
        expectThat(isRight, `size or checksum of ${file.fileId} is another one`);
      }
      return `${listed.length} files, sizes and checksums are right`;
    });
    for (const file of [files[0], large]) if (file) await fetchPlaintext(run, file);
    await fetchRange(run, large);
    for (const file of [awkward, large]) await fetchContainer(run, file);
    await refuse(run);
    return 'every step holds';
  },
};

/** A reply to the reader. */
function get(run: Run, path: string, headers: Readonly<Record<string, string>> = {}) {
  return run.ask('data-out', path, { headers: { ...run.asReader, ...headers } }, 200, 206);
}

function pathOf({ fileId }: ArchivedFile): string {
  return `files/${encodeURIComponent(fileId)}`;
}

async function fetchPlaintext(run: Run, file: ArchivedFile): Promise<void> {
  await run.steps(`fetch ${file.path} decrypted`, async () => {
    const { headers, bytes } = await get(run, pathOf(file));
    const promised = headers['content-length'];
    expectThat(promised === String(bytes.length), `Content-Length is ${promised}, not ${bytes.length}`);
    expectThat(sha256(bytes) === file.sha256, 'the SHA-256 of the plaintext is another one');
    return `${formatBytes(bytes.length)} streamed, SHA-256 is right`;
  });
}

async function fetchRange(run: Run, file: ArchivedFile): Promise<void> {
  const start = Math.floor(file.decryptedSize / 2) + 1;
  const end = start + mebibyte;
  await run.steps(`fetch 1 MiB of ${file.path}`, async () => {
    const { status, headers, bytes } = await get(run, pathOf(file), { range: `bytes=${start}-${end - 1}` });
    const contentRange = `bytes ${start}-${end - 1}/${file.decryptedSize}`;
    expectThat(status === 206, `the range was answered with ${status}`);
    expectThat(headers['content-range'] === contentRange, 'Content-Range is another one');
    expectThat(bytes.equals(file.content.subarray(start, end)), 'the bytes are not those of the file');
    return `206, ${contentRange}`;
  });
}

async function fetchContainer(run: Run, file: ArchivedFile): Promise<void> {
  const { publicKey, privateKey } = run.recipient;
  await run.steps(`fetch ${file.path} as Crypt4GH`, async () => {
    const key = { 'public-key': Buffer.from(publicKey).toString('base64') };
    const reply = await get(run, `${pathOf(file)}?destinationFormat=CRYPT4GH&redirect=false`, key);
    const isStored = reply.headers['content-type']?.startsWith('application/json') === true;
    const container = isStored ? await run.download(JSON.parse(reply.text).url) : reply.bytes;
    await expectContainer(container, file, privateKey);
    return `${isStored ? 'assembled by S3' : 'streamed'}, SHA-256 is right`;
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
    const replies = await Promise.all(paths.map((path) => run.ask('data-out', path, { headers: run.asReader }, 403)));
    const documents = new Set(replies.map(({ text }) => text.replace(/"requestId":"[^"]*"/, '')));
    expectThat(documents.size === 1, 'the replies tell one from the other');
    return `403, all ${replies.length} alike`;
  });
  await steps('ask without a visa', async () => {
    const { headers } = await run.ask('data-out', `files/${files[0]?.fileId}`, { headers: {} }, 401);
    const challenge = headers['www-authenticate'];
    expectThat(challenge !== undefined, 'there is no challenge');
    return `401, WWW-Authenticate: ${challenge}`;
  });
}
