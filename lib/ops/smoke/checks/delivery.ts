import { hash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { parseKeySet } from '../../../client/api/receipts/key-set.ts';
import { verifyReceipt } from '../../../client/api/receipts/verify-receipt.ts';
import { isReceiptName } from '../../../contract/delivery.ts';
import { decrypt, encrypt, headerLength } from '../../../crypt4gh/index.ts';
import { idPart } from '../../../service/containers/container-name.ts';
import { formatBytes } from '../../../terminal/output.ts';
import { addFile } from '../../archive/add-file.ts';
import { setDatasetEvent } from '../../commands/dataset.ts';
import { OpsError } from '../../errors.ts';
import { readArchiveKeys } from '../../secrets/archive-keys.ts';
import { type Check, expectThat, NotApplicable, needsDirectApi, poll } from '../check.ts';
import { readsBai, readsBam } from '../reads.ts';
import type { ArchivedFile, FileName, Run } from '../run.ts';
import { rejected } from './export.ts';

/** How long a receipt may take that the settings do not expect. */
const unexpectedReceiptSeconds = 10;
/** The sizes take every way: no body, one that is read, and one over 8 MiB that S3 copies. The fourth id needs encoding in a path. */
const files = [
  ['empty', '1', 'empty.txt', Buffer.alloc(0)],
  ['notes', '2', 'prøve (1)/notes.txt', randomBytes(6000)],
  ['large', '3', 'genome.bam', randomBytes(9 * 1024 * 1024)],
  ['awkward', 'a b+c%d/é', 'prøve (2)/notes.txt', randomBytes(200_000)],
  ['reads', '5', 'reads.bam', readsBam],
  ['index', '6', 'reads.bam.bai', readsBai],
] as const satisfies readonly (readonly [FileName, string, string, Buffer])[];

export const archive: Check = {
  id: 'archive',
  title: 'the archive takes files, and the dataset is released',
  remedy:
    'Run data-out-ops archive-key show: an archive without a key accepts no files. Then check the rights of your credentials.',
  async run(run) {
    const { target, ids, signal } = run;
    const keys = await readArchiveKeys(target.archiveKeys);
    const add = async ([name, id, path, content]: (typeof files)[number], datasetId: string): Promise<ArchivedFile> => {
      const plain = Readable.from([content]);
      // One is a container already.
      const bytes = name === 'awkward' ? encrypt(plain, { recipients: [keys[0].publicKey] }) : plain;
      const request = { datasetId, fileId: `${datasetId}-${id}`, path, bodyPrefix: `${ids.datasetId}/`, keys, signal };
      return { ...(await addFile(target, { ...request, input: { label: path, size: undefined, bytes } })), content };
    };
    for (const file of files) run.file = { ...run.file, [file[0]]: await add(file, ids.datasetId) };
    run.files = Object.values(run.file);
    run.hidden = await add(files[1], ids.hiddenId);
    const { files: count, bytes } = await setDatasetEvent(target, ids.datasetId, 'released');
    return `${ids.datasetId}, ${count} files, ${formatBytes(bytes)}`;
  },
};

const outbox: Check = {
  id: 'outbox',
  title: 'every file of the export is listed',
  needs: ['exported'],
  remedy: 'Check the object keys below the recipient in the outbox bucket, and the log of the function Files.',
  async run(run) {
    const ours = (await allListed(run)).filter(({ name }) => name.startsWith('SMOKE') && !isReceiptName(name));
    expectThat(ours.length >= run.files.length, `${ours.length} files are listed, not ${run.files.length}`);
    run.listed = ours;
    return `${ours.length} containers, ${formatBytes(ours.reduce((sum, { size }) => sum + size, 0))}`;
  },
};

const download: Check = {
  id: 'download',
  title: 'every staged file downloads from S3, and decrypts to what was archived',
  needs: ['outbox'],
  remedy: 'If S3 refuses the address, check the rights of the function Stream on the outbox and its key.',
  async run(run) {
    for (const file of run.files) {
      const { name } = run.listed.find((each) => each.name.startsWith(`${idPart(file.fileId)}-`)) ?? {};
      expectThat(name !== undefined, `no listed file is ${file.fileId}`);
      const { url } = await run.researcher().location(name, run);
      await expectContainer(await run.download(url), file, run.recipient.privateKey);
    }
    return `${run.files.length} files decrypted, with the bytes that were archived`;
  },
};

/** Not of the main path: what the documentation of S3 leaves open. */
export const presigned: Check = {
  id: 'presigned',
  title: 'an address serves ranges, and no HEAD',
  needs: ['outbox'],
  remedy: 'Check the clock of this machine, and the policy of the outbox bucket.',
  async run(run) {
    const { transport, signal } = run;
    const { url, size } = await run.researcher().location(run.listed.at(-1)?.name ?? '', run);
    const part = await transport.send({ url, headers: { range: 'bytes=10-19' }, signal });
    const found = `${part.status}, ${(await buffer(part.body)).length} bytes, ${part.header('content-range')}`;
    expectThat(found === `206, 10 bytes, bytes 10-19/${size}`, `range: ${found}`);
    const refused = await transport.send({ method: 'HEAD', url, signal });
    await refused.discard();
    expectThat(refused.status === 403, `HEAD: ${refused.status}, expected 403`);
    const disposition = part.header('content-disposition') === undefined ? 'absent' : 'there';
    return `206 and 403; Content-Disposition on 206 is ${disposition}`;
  },
};

const receipt: Check = {
  id: 'receipt',
  title: 'a signed receipt settles the delivery',
  needs: ['exported'],
  remedy: 'Check the log of SettleDelivery.',
  async run(run) {
    const { requestId, expected } = run;
    const proxy = run.researcher();
    const seconds = expected.deliveryReceipt ? 120 : unexpectedReceiptSeconds;
    const { name } = await poll(run, seconds, 'there is no receipt', async () =>
      (await allListed(run)).find((file) => isReceiptName(file.name) && file.name.includes(requestId)),
    ).catch((error: unknown) => {
      if (expected.deliveryReceipt || !(error instanceof OpsError)) throw error;
      throw new NotApplicable('there is none, and the setting deliveryReceipt is off');
    });
    const jws = await run.download((await proxy.location(name, run)).url);
    const keys = await parseKeySet(await proxy.keySet(run), 'the keys of the service');
    const { jti, complete, files: claimed } = await verifyReceipt(jws, keys);
    expectThat(jti === requestId && complete, 'it is not of this request, or says that files are missing');
    expectThat(claimed.length === run.files.length, `it lists ${claimed.length} files, not ${run.files.length}`);
    // S3 compared them when each container was complete.
    const isSummed = claimed.every(({ crc64nvme }) => crc64nvme !== undefined);
    expectThat(isSummed, 'a container was staged without a checksum: the archive bucket has none of its body');
    return `${claimed.length} files, signature is right`;
  },
};

/** The bytes of whole files. The rows of the conformance suite have ranges and refusals. */
const direct: Check = {
  id: 'direct',
  title: 'the direct API lists, decrypts and encrypts whole files',
  needs: ['archive', 'visa'],
  remedy: 'Check the log of the function Datasets, then of DirectFile.',
  async run(run) {
    needsDirectApi(run);
    const { files, recipient } = run;
    const { large, awkward } = run.file;
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
    expectThat(bytes.equals(large.content), 'the plaintext is another one');
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

/**
 * Opens a container and compares body and plaintext with what was archived.
 * @throws OpsError `verification_failed`; Crypt4ghError
 */
async function expectContainer(container: Buffer, file: ArchivedFile, privateKey: Uint8Array): Promise<void> {
  const body = container.subarray(headerLength(container) ?? container.length);
  expectThat(hash('sha256', body) === file.archivedSha256, `the body of ${file.path} is not the one in the archive`);
  const plaintext = await buffer(decrypt([container], { privateKeys: [privateKey] }));
  expectThat(plaintext.equals(file.content), `the plaintext of ${file.path} is another one`);
}

function allListed(run: Run) {
  return Array.fromAsync(run.researcher().list(run));
}

export const deliveryChecks = [outbox, download, receipt, direct, rejected];
