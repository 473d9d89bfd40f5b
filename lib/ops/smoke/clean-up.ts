import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { smokeIdPrefix } from '../../contract/messages.ts';
import { outboxFactsOf } from '../../contract/outbox-key.ts';
import { outputs } from '../../contract/outputs.ts';
import { idPart } from '../../service/containers/container-name.ts';
import { s3Client } from '../../service/stores/clients.ts';
import { removeFile } from '../archive/remove-file.ts';
import { smokeRows } from '../catalogue/smoke-rows.ts';
import { removeSmokeObjects } from '../stores/smoke-objects.ts';
import { type Deployment, databaseOf, targetOf } from '../target.ts';
import type { Check } from './check.ts';
import { removeAdministrators } from './users.ts';

/** Longest wait for exports that a run began. */
const settleSeconds = 90;

/**
 * Remove what runs of the suite put into a deployment, which is all that begins with the prefix of their ids.
 * @param requestId of an export that may be queued. @default - none
 * @returns names of what was found
 */
export async function removeRuns(deployment: Deployment, requestId = ''): Promise<readonly string[]> {
  const target = targetOf(deployment);
  const { catalogue, outbox } = target;
  const rows = smokeRows(databaseOf(deployment));
  const client = s3Client(deployment.clientOptions('s3'));
  const found: string[] = [];
  const removeObjects = async (bucket: 'ArchiveBucketName' | 'OutboxBucketName', prefix: string) => {
    const removed = await removeSmokeObjects(client, { bucket: deployment.outputs[bucket], prefix });
    if (removed > 0) found.push(`${removed} objects below ${prefix} in ${deployment.outputs[bucket]}`);
  };
  const datasets = await rows.datasets();
  // Nothing more is staged from now on.
  for (const id of datasets) await catalogue.appendDatasetEvent(id, 'deprecated');
  // What is being staged still appears. The next run finds what is staged even later.
  const giveUp = Date.now() + settleSeconds * 1000;
  while (Date.now() < giveUp && (await rows.areUnderWay(requestId))) await pause(1000);
  for (const recipient of await rows.recipients()) {
    await removeObjects(outputs.outboxBucket, `${recipient}/${idPart(smokeIdPrefix)}`);
  }
  // Short-lived containers of the direct API.
  for await (const keys of outbox.directKeys()) {
    for (const key of keys) {
      const head = await outbox.head(key);
      const { datasetId } = head ? outboxFactsOf(head.metadata) : {};
      if (head && datasetId?.startsWith(smokeIdPrefix)) await outbox.remove(key, head.etag);
    }
  }
  for (const datasetId of datasets) {
    const files = await Array.fromAsync(catalogue.files(datasetId), ({ fileId }) => fileId);
    for (const fileId of files) await removeFile(target, { fileId, datasetId, removalId: randomUUID() });
    await rows.remove(datasetId);
    found.push(datasetId);
  }
  // Bodies whose row was never written.
  await removeObjects(outputs.archiveBucket, smokeIdPrefix);
  found.push(...(await rows.removeUsers()).map((username) => `user ${username}`));
  found.push(...(await removeAdministrators(target.administrators)).map((username) => `administrator ${username}`));
  return found;
}

export const leftovers: Check = {
  id: 'leftovers',
  title: 'what an earlier run left is removed',
  remedy: 'Check the rights of your credentials, then run npm run smoke with --clean-up.',
  async run({ deployment }) {
    const found = await removeRuns(deployment);
    return found.length === 0 ? 'nothing was left' : found.join(', ');
  },
};

/** Comes last, whatever happened before. */
export const removal: Check = {
  id: 'clean-up',
  title: 'everything that the run made is removed',
  remedy: 'Give the same command with --clean-up.',
  async run({ deployment, requestId }) {
    await removeRuns(deployment, requestId);
    return 'only the audit trail shows it';
  },
};
