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

/** A run takes minutes. What is older than this, in seconds, was left by one that was killed. */
export const abandonedAfterSeconds = 2 * 3600;

/** Longest wait for an export that a run began. */
const settleSeconds = 90;
const ever = new Date(8.64e15);

/** Removes what runs of the suite put into a deployment. Everything may be repeated. */
export class CleanUp {
  readonly #deployment: Deployment;
  readonly #target;
  readonly #rows: RdsSmokeRows;

  constructor(deployment: Deployment) {
    this.#deployment = deployment;
    this.#target = targetOf(deployment);
    this.#rows = new RdsSmokeRows(databaseOf(deployment));
  }

  /**
   * Remove all of one run.
   *
   * @param options.madeUsers whether the run has users of its own
   * @param options.requestId of its export. What is being staged appears after the dataset is deprecated, so this waits for it
   */
  async run(ids: RunIds, options: { readonly madeUsers: boolean; readonly requestId: string }): Promise<void> {
    await this.#deprecate(ids.datasetId);
    if (options.requestId !== '') await this.#awaitSettled(options.requestId);
    for (const datasetId of [ids.datasetId, ids.hiddenId]) await this.#dataset(datasetId);
    // Bodies whose row was never written, and the probes.
    await this.#objects(outputs.archiveBucket, `${ids.datasetId}/`, ever);
    await this.#objects(outputs.outboxBucket, `${ids.datasetId}/`, ever);
    if (!options.madeUsers) return;
    await this.#rows.removeUser(ids.username);
    await removeAdministrator(this.#target.administrators, ids.username);
  }

  /**
   * Remove what runs left that were killed. A run that is under way stays: it is younger.
   *
   * @param olderThanSeconds age of what is removed
   * @returns names of what was found
   */
  async leftovers(olderThanSeconds: number, now: Date): Promise<readonly string[]> {
    const found: string[] = [];
    for (const datasetId of await this.#rows.datasets(olderThanSeconds)) {
      await this.#dataset(datasetId);
      found.push(datasetId);
    }
    for (const username of await this.#rows.users(olderThanSeconds)) {
      await this.#rows.removeUser(username);
      found.push(`user ${username}`);
    }
    const before = new Date(now.getTime() - olderThanSeconds * 1000);
    for (const username of await leftAdministrators(this.#target.administrators, before)) {
      await removeAdministrator(this.#target.administrators, username);
      found.push(`administrator ${username}`);
    }
    for (const bucket of [outputs.archiveBucket, outputs.outboxBucket]) {
      const removed = await this.#objects(bucket, smokeIdPrefix, before);
      if (removed > 0) found.push(`${removed} objects in ${this.#deployment.outputs[bucket]}`);
    }
    for (const recipient of await this.#rows.recentRecipients()) {
      const removed = await this.#objects(outputs.outboxBucket, `${recipient}/${idPart(smokeIdPrefix)}`, before);
      if (removed > 0) found.push(`${removed} objects of the recipient ${recipient}`);
    }
    return found;
  }

  /** Nothing more is staged from now on. What is being staged goes on. */
  async #deprecate(datasetId: string): Promise<void> {
    if (await this.#target.catalogue.findDataset(datasetId))
      await setDatasetEvent(this.#target, datasetId, 'deprecated');
  }

  /** Goes on after a while: the next run finds what is staged even later. */
  async #awaitSettled(requestId: string): Promise<void> {
    const giveUp = Date.now() + settleSeconds * 1000;
    while (Date.now() < giveUp && !(await this.#rows.isSettled(requestId))) await pause(1000);
  }

  async #dataset(datasetId: string): Promise<void> {
    const { catalogue } = this.#target;
    await this.#deprecate(datasetId);
    for (const recipient of await this.#rows.recipients(datasetId)) {
      await this.#objects(outputs.outboxBucket, `${recipient}/${idPart(datasetId)}`, ever);
    }
    await this.#direct(datasetId);
    const files = await Array.fromAsync(catalogue.files(datasetId), ({ fileId }) => fileId);
    for (const fileId of files) await removeFile(this.#target, { fileId, datasetId, removalId: randomUUID() });
    await this.#rows.remove(datasetId);
  }

  /** Short-lived containers of direct access. */
  async #direct(datasetId: string): Promise<void> {
    const { outbox } = this.#target;
    for await (const keys of outbox.directKeys()) {
      for (const key of keys) {
        const head = await outbox.head(key);
        if (head && outboxFactsOf(head.metadata).datasetId === datasetId) await outbox.remove(key, head.etag);
      }
    }
  }

  #objects(bucket: 'ArchiveBucketName' | 'OutboxBucketName', prefix: string, before: Date): Promise<number> {
    const client = s3Client(this.#deployment.clientOptions('s3'));
    return removeSmokeObjects(client, { bucket: this.#deployment.outputs[bucket], prefix, before });
  }
}
