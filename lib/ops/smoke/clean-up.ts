import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { smokeIdPrefix } from '../../contract/messages.ts';
import { outboxFactsOf } from '../../contract/outbox-key.ts';
import { outputs } from '../../contract/outputs.ts';
import { idPart } from '../../service/archive/container-name.ts';
import { s3Client } from '../../service/stores/clients.ts';
import { removeFile } from '../archive/remove-file.ts';
import { RdsSmokeRows } from '../catalogue/smoke-rows.ts';
import { setDatasetEvent } from '../commands/dataset.ts';
import { removeSmokeObjects } from '../stores/smoke-objects.ts';
import { type Deployment, databaseOf, targetOf } from '../target.ts';
import type { RunIds } from './run.ts';
import { leftAdministrators, removeAdministrator } from './users.ts';

/** Longest wait for an export that a run began. */
const settleSeconds = 90;
const ever = new Date(8.64e15);

/**
 * Remove all that one run of the suite put into a deployment. It may be repeated.
 *
 * @param options.madeUsers whether the run has its own users
 * @param options.requestId of its export. What is being staged appears after the dataset is deprecated, so this waits for it
 */
export async function removeRun(
  deployment: Deployment,
  ids: RunIds,
  options: { readonly madeUsers: boolean; readonly requestId: string },
): Promise<void> {
  const { target, rows, removeObjects, deprecate, removeDataset } = partsOf(deployment);
  await deprecate(ids.datasetId);
  if (options.requestId !== '') {
    // Continues after a while: the next run finds what is staged even later.
    const giveUp = Date.now() + settleSeconds * 1000;
    while (Date.now() < giveUp && !(await rows.isSettled(options.requestId))) await pause(1000);
  }
  for (const datasetId of [ids.datasetId, ids.hiddenId]) await removeDataset(datasetId);
  // Bodies whose row was never written, and the probes.
  await removeObjects(outputs.archiveBucket, `${ids.datasetId}/`, ever);
  await removeObjects(outputs.outboxBucket, `${ids.datasetId}/`, ever);
  if (!options.madeUsers) return;
  await rows.removeUser(ids.username);
  await removeAdministrator(target.administrators, ids.username);
}

/**
 * Remove what runs left that were killed. A run that is under way stays: it is younger.
 *
 * @param olderThanSeconds age of what is removed
 * @returns names of what was found
 */
export async function removeLeftovers(
  deployment: Deployment,
  olderThanSeconds: number,
  now: Date,
): Promise<readonly string[]> {
  const { target, rows, removeObjects, removeDataset } = partsOf(deployment);
  const found: string[] = [];
  for (const datasetId of await rows.datasets(olderThanSeconds)) {
    await removeDataset(datasetId);
    found.push(datasetId);
  }
  for (const username of await rows.users(olderThanSeconds)) {
    await rows.removeUser(username);
    found.push(`user ${username}`);
  }
  const before = new Date(now.getTime() - olderThanSeconds * 1000);
  for (const username of await leftAdministrators(target.administrators, before)) {
    await removeAdministrator(target.administrators, username);
    found.push(`administrator ${username}`);
  }
  for (const bucket of [outputs.archiveBucket, outputs.outboxBucket]) {
    const removed = await removeObjects(bucket, smokeIdPrefix, before);
    if (removed > 0) found.push(`${removed} objects in ${deployment.outputs[bucket]}`);
  }
  for (const recipient of await rows.recentRecipients()) {
    const removed = await removeObjects(outputs.outboxBucket, `${recipient}/${idPart(smokeIdPrefix)}`, before);
    if (removed > 0) found.push(`${removed} objects of the recipient ${recipient}`);
  }
  return found;
}

/** The parts of a deployment that runs change. */
function partsOf(deployment: Deployment) {
  const target = targetOf(deployment);
  const { catalogue, outbox } = target;
  const rows = new RdsSmokeRows(databaseOf(deployment));
  const client = s3Client(deployment.clientOptions('s3'));
  const removeObjects = (bucket: 'ArchiveBucketName' | 'OutboxBucketName', prefix: string, before: Date) =>
    removeSmokeObjects(client, { bucket: deployment.outputs[bucket], prefix, before });
  /** Nothing more is staged from now on. What is being staged continues. */
  const deprecate = async (datasetId: string) => {
    if (await catalogue.findDataset(datasetId)) await setDatasetEvent(target, datasetId, 'deprecated');
  };
  const removeDataset = async (datasetId: string) => {
    await deprecate(datasetId);
    for (const recipient of await rows.recipients(datasetId)) {
      await removeObjects(outputs.outboxBucket, `${recipient}/${idPart(datasetId)}`, ever);
    }
    // Short-lived containers of direct access.
    for await (const keys of outbox.directKeys()) {
      for (const key of keys) {
        const head = await outbox.head(key);
        if (head && outboxFactsOf(head.metadata).datasetId === datasetId) await outbox.remove(key, head.etag);
      }
    }
    const files = await Array.fromAsync(catalogue.files(datasetId), ({ fileId }) => fileId);
    for (const fileId of files) await removeFile(target, { fileId, datasetId, removalId: randomUUID() });
    await rows.remove(datasetId);
  };
  return { target, rows, removeObjects, deprecate, removeDataset };
}
