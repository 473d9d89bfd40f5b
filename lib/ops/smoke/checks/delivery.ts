import { buffer } from 'node:stream/consumers';
import { parseKeySet } from '../../../client/api/receipts/key-set.ts';
import { verifyReceipt } from '../../../client/api/receipts/verify-receipt.ts';
import { isReceiptName } from '../../../contract/delivery.ts';
import { formatBytes } from '../../../terminal/output.ts';
import { setDatasetEvent } from '../../commands/dataset.ts';
import { OpsError } from '../../errors.ts';
import { readArchiveKeys } from '../../secrets/archive-keys.ts';
import { type Check, NotApplicable, poll } from '../check.ts';
import { type ArchivedFile, archiveFile, expectStaged } from '../files.ts';
import { readsBai, readsBam } from '../reads.ts';
import type { Run } from '../run.ts';
import { expectThat } from '../steps.ts';
import { direct } from './direct.ts';
import { rejected } from './rejected.ts';

const mebibyte = 1024 * 1024;
/** How long a receipt may take that the settings do not expect. */
const unexpectedReceiptSeconds = 10;
/** The sizes take every way: no body, one that is read, and one over 8 MiB that S3 copies. The last id needs encoding in a path. */
const files = [
  { id: '1', path: 'empty.txt', content: 0, form: 'plaintext' },
  { id: '2', path: 'prøve (1)/notes.txt', content: 6000, form: 'plaintext' },
  { id: '3', path: 'genome.bam', content: 9 * mebibyte, form: 'plaintext' },
  { id: 'a b+c%d/é', path: 'prøve (2)/notes.txt', content: 200_000, form: 'Crypt4GH' },
  { id: '5', path: 'reads.bam', content: readsBam, form: 'plaintext' },
  { id: '6', path: 'reads.bam.bai', content: readsBai, form: 'plaintext' },
] as const;

const archive: Check = {
  id: 'archive',
  title: 'the archive takes files, and the dataset is released',
  remedy:
    'Run data-out-ops archive-key show: an archive without a key accepts no files. Then check the rights of your credentials.',
  inSteps: true,
  async run(run) {
    const { target, ids, signal, steps } = run;
    const keys = await readArchiveKeys(target.archiveKeys);
    const add = ({ id, ...file }: (typeof files)[number], datasetId: string) => {
      const of = { datasetId, fileId: `${datasetId}-${id}`, bodyPrefix: `${ids.datasetId}/`, keys, signal };
      return steps(
        `archive ${file.path}${datasetId === ids.hiddenId ? ', hidden' : ''}`,
        () => archiveFile(target, { ...file, ...of }),
        ({ decryptedSize }) => `${formatBytes(decryptedSize)} as ${file.form}`,
      );
    };
    const added: ArchivedFile[] = [];
    for (const file of files) added.push(await add(file, ids.datasetId));
    run.hidden = await add(files[1], ids.hiddenId);
    run.files = added;
    const released = await steps('release the dataset', async () => {
      const { files: count, bytes } = await setDatasetEvent(target, ids.datasetId, 'released');
      return `${count} files, ${formatBytes(bytes)}`;
    });
    return `${ids.datasetId}, ${released}`;
  },
};

const outbox: Check = {
  id: 'outbox',
  title: 'every file of the export is listed',
  needs: ['exported'],
  remedy: 'Check the object keys below the recipient in the outbox bucket, and the log of the function Files.',
  async run(run) {
    const listed = (await allListed(run)).filter(({ name }) => !isReceiptName(name));
    const ours = listed.filter(({ name }) => name.startsWith('SMOKE'));
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
  inSteps: true,
  async run(run) {
    const { listed, recipient, signal, steps } = run;
    for (const file of run.files) {
      await steps(`stream and decrypt ${file.path}`, async () => {
        await expectStaged(run.researcher(), { file, listed, recipient }, signal);
        return `${formatBytes(file.decryptedSize)}, SHA-256 is right`;
      });
    }
    return `${run.files.length} files, SHA-256 is right`;
  },
};

const receipt: Check = {
  id: 'receipt',
  title: 'a signed receipt settles the delivery',
  needs: ['exported'],
  remedy: 'Check the log of SettleDelivery.',
  async run(run) {
    const { signal, transport, requestId } = run;
    const proxy = run.researcher();
    const isOff = !run.expected.deliveryReceipt;
    const { name } = await poll(
      async () => (await allListed(run)).find((file) => isReceiptName(file.name) && file.name.includes(requestId)),
      { seconds: isOff ? unexpectedReceiptSeconds : 120, signal, what: 'there is no receipt' },
    ).catch((error: unknown) => {
      if (!(isOff && error instanceof OpsError)) throw error;
      throw new NotApplicable('there is none, and the setting deliveryReceipt is off');
    });
    const { url } = await proxy.location(name, { signal });
    const jws = await buffer((await transport.send({ url, signal })).body);
    const keys = await parseKeySet(await proxy.keySet({ signal }), 'the keys of the service');
    const { jti, complete, files: claimed } = await verifyReceipt(jws, keys);
    expectThat(jti === requestId && complete, 'it is not of this request, or says that files are missing');
    expectThat(claimed.length === run.files.length, `it lists ${claimed.length} files, not ${run.files.length}`);
    return `${claimed.length} files, signature is right`;
  },
};

function allListed({ researcher, signal }: Run) {
  return Array.fromAsync(researcher().list({ signal }));
}

export const archiveChecks = [archive];
export const deliveryChecks = [outbox, download, receipt, direct, rejected];
