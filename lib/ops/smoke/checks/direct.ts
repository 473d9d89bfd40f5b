import { type Check, needsDirectApi } from '../check.ts';
import { expectThat } from '../expect-that.ts';
import { type ArchivedFile, expectContainer, sha256 } from '../files.ts';

/** The bytes of whole files. The rows of the conformance suite have ranges and refusals. */
export const direct: Check = {
  id: 'direct',
  title: 'direct access lists, decrypts and encrypts whole files',
  needs: ['archive', 'visa'],
  remedy: 'Check the log of the function Datasets, then of DirectFile.',
  async run(run) {
    needsDirectApi(run);
    const { files, large, awkward, recipient } = run;
    const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
      run.ask('direct', path, { headers: { ...run.asReader, ...headers } }, 200);
    const pathOf = ({ fileId }: ArchivedFile) => `files/${encodeURIComponent(fileId)}`;

    const { text } = await get(`metadata/datasets/${encodeURIComponent(run.ids.datasetId)}/files`);
    const listed: { fileId: string; decryptedFileSize: number; decryptedFileChecksum: string }[] = JSON.parse(text);
    for (const { fileId, sha256: digest, decryptedSize } of files) {
      const found = listed.find((file) => file.fileId === fileId);
      const isRight = found?.decryptedFileChecksum === digest && found.decryptedFileSize === decryptedSize;
      expectThat(isRight, `the list has another size or checksum of ${fileId}`);
    }
    const { headers, bytes } = await get(pathOf(large));
    const promised = headers['content-length'];
    expectThat(promised === String(bytes.length), `Content-Length is ${promised}, not ${bytes.length}`);
    expectThat(sha256(bytes) === large.sha256, 'the SHA-256 of the plaintext is another one');
    const ways: string[] = [];
    for (const file of [awkward, large]) {
      const key = { 'public-key': Buffer.from(recipient.publicKey).toString('base64') };
      const reply = await get(`${pathOf(file)}?destinationFormat=CRYPT4GH&redirect=false`, key);
      const isStored = reply.headers['content-type']?.startsWith('application/json') === true;
      const container = isStored ? await run.download(JSON.parse(reply.text).url) : reply.bytes;
      await expectContainer(container, file, recipient.privateKey);
      ways.push(isStored ? 'assembled by S3' : 'streamed');
    }
    return `a plaintext, and containers ${ways.join(' and ')}`;
  },
};
