import { buffer } from 'node:stream/consumers';
import { directContainer } from '../../../client/api/download/remote/direct-file.ts';
import { StagedFile } from '../../../client/api/download/remote/staged-file.ts';
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
  remedy: 'The step is named. Look at the log of the function behind its route.',
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

async function listDirectly({ users, steps, signal, visa, ids, files }: Run): Promise<void> {
  const direct = users.program(visa);
  await steps.run('list the datasets directly', async () => {
    const value = await direct.datasets({ signal });
    const right = value.includes(ids.datasetId) && !value.includes(ids.hiddenId);
    expectThat(right, `the visa gives access to ${value.join()}`);
    return { value, detail: value.join() };
  });
  await steps.run('list its files directly', async () => {
    const value = await direct.files(ids.datasetId, { signal });
    expectThat(value.length === files.length, `${value.length} files are listed, not ${files.length}`);
    for (const file of files) {
      const listed = value.find(({ fileId }) => fileId === file.fileId);
      const right = listed?.checksum?.value === file.sha256 && listed.size === file.decryptedSize;
      expectThat(right, `size or checksum of ${file.fileId} is another one`);
    }
    return { value, detail: `${value.length} files, sizes and checksums are right` };
  });
}

async function fetchPlaintext({ users, steps, signal, visa }: Run, file: ArchivedFile): Promise<void> {
  await steps.run(`fetch ${file.path} decrypted`, async () => {
    const reply = await users.program(visa).request(file.fileId, {}, { signal });
    const plaintext = await buffer(reply.body);
    expectThat(reply.header('content-length') === String(plaintext.length), 'Content-Length is another one');
    expectThat(sha256(plaintext) === file.sha256, 'the SHA-256 of the plaintext is another one');
    return { value: undefined, detail: `${formatBytes(plaintext.length)} streamed, SHA-256 is right` };
  });
}

async function fetchRange({ users, steps, signal, visa }: Run, file: ArchivedFile): Promise<void> {
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

async function fetchContainer(run: Run, file: ArchivedFile): Promise<void> {
  const { users, steps, signal, visa, recipient } = run;
  await steps.run(`fetch ${file.path} as Crypt4GH`, async () => {
    const query = { publicKey: Buffer.from(recipient.publicKey).toString('base64') };
    const remote = await directContainer(users.program(visa), { fileId: file.fileId, query }, { signal });
    const container = await buffer((await remote.get({ signal })).bytes);
    await expectContainer(container, file, recipient.privateKey);
    const how = remote instanceof StagedFile ? 'assembled by S3' : 'streamed';
    return { value: undefined, detail: `${how}, SHA-256 is right` };
  });
}

async function refuse(run: Run): Promise<void> {
  const { steps, visa, files, hidden, ids } = run;
  await steps.run('ask for what is not released or not there', async () => {
    expectThat(hidden !== undefined, 'no file that is not released was archived');
    const paths = [
      `files/${hidden.fileId}`,
      'files/EGAF99999999999',
      `metadata/datasets/${ids.hiddenId}/files`,
      'metadata/datasets/EGAD99999999999/files',
    ];
    const refusals = await Promise.all(paths.map((path) => refusal(run, path, { authorization: `Bearer ${visa}` })));
    expectThat(
      refusals.every(({ status }) => status === 403),
      'not all of it is 403',
    );
    expectThat(new Set(refusals.map(({ problem }) => problem)).size === 1, 'the replies tell one from the other');
    return { value: undefined, detail: `403, all ${refusals.length} alike` };
  });
  await steps.run('ask without a visa', async () => {
    const { status, challenge } = await refusal(run, `files/${files[0]?.fileId}`, {});
    expectThat(status === 401 && challenge !== undefined, `${status}, no challenge`);
    return { value: undefined, detail: `401, WWW-Authenticate: ${challenge}` };
  });
}

/** One reply as it is on the wire, with the problem document less its request id as one text. */
async function refusal({ users, visa, signal }: Run, path: string, headers: Record<string, string>) {
  const url = new URL(path, users.program(visa).connection.dataOutUrl);
  const reply = await users.transport.send({ url, headers, signal });
  const { requestId: _, ...problem } = JSON.parse(await reply.text()) as Record<string, unknown>;
  return { status: reply.status, challenge: reply.header('www-authenticate'), problem: JSON.stringify(problem) };
}
