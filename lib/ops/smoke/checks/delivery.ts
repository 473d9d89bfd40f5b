import { parseKeySet } from '../../../client/api/receipts/key-set.ts';
import { verifyReceipt } from '../../../client/api/receipts/verify-receipt.ts';
import { isReceiptName } from '../../../contract/delivery.ts';
import { idPart } from '../../../service/containers/container-name.ts';
import { formatBytes } from '../../../terminal/output.ts';
import { setDatasetEvent } from '../../commands/dataset.ts';
import { OpsError } from '../../errors.ts';
import { readArchiveKeys } from '../../secrets/archive-keys.ts';
import { type Check, NotApplicable, poll } from '../check.ts';
import { expectThat } from '../expect-that.ts';
import { type ArchivedFile, archiveFile, expectContainer } from '../files.ts';
import { readsBai, readsBam } from '../reads.ts';
import type { Run } from '../run.ts';
import { direct } from './direct.ts';
import { rejected } from './rejected.ts';

/** How long a receipt may take that the settings do not expect. */
const unexpectedReceiptSeconds = 10;
/** The sizes take every way: no body, one that is read, and one over 8 MiB that S3 copies. The fourth id needs encoding in a path. */
const files = [
  { id: '1', path: 'empty.txt', content: 0 },
  { id: '2', path: 'prøve (1)/notes.txt', content: 6000 },
  { id: '3', path: 'genome.bam', content: 9 * 1024 * 1024 },
  { id: 'a b+c%d/é', path: 'prøve (2)/notes.txt', content: 200_000, isContainer: true },
  { id: '5', path: 'reads.bam', content: readsBam },
  { id: '6', path: 'reads.bam.bai', content: readsBai },
] as const;

export const archive: Check = {
  id: 'archive',
  title: 'the archive takes files, and the dataset is released',
  remedy:
    'Run data-out-ops archive-key show: an archive without a key accepts no files. Then check the rights of your credentials.',
  async run(run) {
    const { target, ids, signal } = run;
    const keys = await readArchiveKeys(target.archiveKeys);
    const add = ({ id, ...file }: (typeof files)[number], datasetId: string) => {
      const fileId = `${datasetId}-${id}`;
      return archiveFile(target, { ...file, datasetId, fileId, bodyPrefix: `${ids.datasetId}/`, keys, signal });
    };
    const added: ArchivedFile[] = [];
    for (const file of files) added.push(await add(file, ids.datasetId));
    run.hidden = await add(files[1], ids.hiddenId);
    run.files = added;
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
    return `${run.files.length} files decrypted, SHA-256 is right`;
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
    return `${claimed.length} files, signature is right`;
  },
};

function allListed(run: Run) {
  return Array.fromAsync(run.researcher().list(run));
}

export const deliveryChecks = [outbox, download, receipt, direct, rejected];
