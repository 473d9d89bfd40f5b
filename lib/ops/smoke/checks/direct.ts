import { formatBytes } from '../../../terminal/output.ts';
import { type Check, needsDirectApi } from '../check.ts';
import { type ArchivedFile, expectContainer, sha256 } from '../files.ts';
import type { Run } from '../run.ts';
import { expectThat } from '../steps.ts';

/** The bytes of whole files. The rows of the conformance suite have ranges and refusals. */
export const direct: Check = {
  id: 'direct',
  title: 'direct access lists, decrypts and encrypts whole files',
  needs: ['archive', 'visa'],
  remedy: 'Check the log of the function behind the route of the named step.',
  inSteps: true,
  async run(run) {
    needsDirectApi(run);
    const { steps, files, large, awkward } = run;
    await steps('list the files directly', async () => {
      const { text } = await get(run, `metadata/datasets/${encodeURIComponent(run.ids.datasetId)}/files`);
      const listed: { fileId: string; decryptedFileSize: number; decryptedFileChecksum: string }[] = JSON.parse(text);
      for (const file of files) {
        const found = listed.find(({ fileId }) => fileId === file.fileId);
        const isRight = found?.decryptedFileChecksum === file.sha256 && found.decryptedFileSize === file.decryptedSize;
        expectThat(isRight, `size or checksum of ${file.fileId} is another one`);
      }
      return `${listed.length} files, sizes and checksums are right`;
    });
    await steps(`fetch ${large.path} decrypted`, async () => {
      const { headers, bytes } = await get(run, pathOf(large));
      const promised = headers['content-length'];
      expectThat(promised === String(bytes.length), `Content-Length is ${promised}, not ${bytes.length}`);
      expectThat(sha256(bytes) === large.sha256, 'the SHA-256 of the plaintext is another one');
      return `${formatBytes(bytes.length)} streamed, SHA-256 is right`;
    });
    for (const file of [awkward, large]) {
      await steps(`fetch ${file.path} as Crypt4GH`, async () => {
        const key = { 'public-key': Buffer.from(run.recipient.publicKey).toString('base64') };
        const reply = await get(run, `${pathOf(file)}?destinationFormat=CRYPT4GH&redirect=false`, key);
        const isStored = reply.headers['content-type']?.startsWith('application/json') === true;
        const container = isStored ? await run.download(JSON.parse(reply.text).url) : reply.bytes;
        await expectContainer(container, file, run.recipient.privateKey);
        return `${isStored ? 'assembled by S3' : 'streamed'}, SHA-256 is right`;
      });
    }
    return 'every step holds';
  },
};

/** A reply to the reader. */
function get(run: Run, path: string, headers: Readonly<Record<string, string>> = {}) {
  return run.ask('data-out', path, { headers: { ...run.asReader, ...headers } }, 200);
}

function pathOf({ fileId }: ArchivedFile): string {
  return `files/${encodeURIComponent(fileId)}`;
}
