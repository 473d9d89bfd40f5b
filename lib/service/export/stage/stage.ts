import { forEachConcurrently } from '../../../common/concurrently.ts';
import { parseJson } from '../../../common/untrusted-json.ts';
import type { DenyList } from '../../../contract/deny-list.ts';
import { type FileExportMessage, fileExportMessage } from '../../../contract/messages.ts';
import { outboxMetadata, outboxMetadataOf } from '../../../contract/outbox-key.ts';
import { isDamage, isError, unavailable } from '../../../errors.ts';
import { nameDamagedFile } from '../../archive/archived-file.ts';
import { largestSmallBody } from '../../containers/plan.ts';
import { checkTimeLeft, containerCrc } from '../../containers/write-container.ts';
import type { ReceivedMessage } from '../received.ts';
import { isOpenState, sendToSettle } from '../requests.ts';
import { recordRemoval } from '../withdraw/remove.ts';
import { copyLarge } from './copy.ts';
import {
  alreadyWritten,
  type DueOrder,
  dueOrder,
  type End,
  findOrders,
  headerOf,
  isSameFile,
  isStillDue,
  type Order,
  type StageDependencies,
} from './order.ts';
import { recordEnds } from './record.ts';

/** One message on its way. */
export interface StagedMessage extends Partial<FileExportMessage> {
  order?: Order | undefined;
  end: End;
}

/** The milliseconds that the invocation has left, and those that it had when its orders were found. */
type Time = readonly [remainingMs: () => number, foundMs: number];

/** How long an order counts as just found. After that it is asked for again before its container becomes visible. */
const freshMs = 10_000;
/** Bytes of small bodies that a batch has in memory at once, whatever the sizes of its files. */
const bytesInFlight = 32 * 1024 * 1024;

/**
 * Stage files, each for one recipient: the header rebuilt for their key, the body copied as it is. One query finds all files, one statement
 * records what happened to them, and S3 is called for all files side by side.
 *
 * Staging is safe to repeat and to run twice at once: the outbox ends with the whole container of the newest request. The catalogue's
 * size decides how a file is written, whichever queue its message came by.
 *
 * @param messages at most ten
 * @returns how each ended, in their order
 */
export async function stageFiles(
  messages: readonly Pick<ReceivedMessage, 'body'>[],
  dependencies: StageDependencies,
  remainingMs: () => number,
): Promise<readonly StagedMessage[]> {
  const { db } = dependencies;
  const all = messages.map(({ body }): StagedMessage => {
    const named = fileExportMessage.safeParse(parseJson(body)).data;
    if (named) return { ...named, end: { outcome: 'ended' } };
    return { end: failed(new Error('the message names no file of a request')) };
  });
  const tasks = all.filter(isNamed);
  try {
    checkTimeLeft(remainingMs);
    const foundMs = remainingMs();
    const orders = await findOrders(db, tasks);
    for (const [index, task] of tasks.entries()) task.order = orders[index];
    const denied = await dependencies.denied();
    await forEachConcurrently(tasks, atOnce(orders), async (task) => {
      const { order } = task;
      if (order) task.end = await endOf(order, denied, dependencies, remainingMs, foundMs).catch(failed);
    });
  } catch (error) {
    for (const task of tasks) task.end = failed(error);
  }
  await record(tasks, dependencies);
  return all;
}

type Task = StagedMessage & FileExportMessage;

const isNamed = (message: StagedMessage): message is Task => message.fileId !== undefined;

const failed = (error: unknown): End => ({ outcome: 'failed', error });

/** How many files may be in memory at once, by the largest of them. */
function atOnce(orders: readonly (Order | undefined)[]): number {
  const sizes = orders.map((order) =>
    order?.file.status === 'fulfilled' ? (order.file.value?.archiveFileSize ?? 0) : 0,
  );
  return Math.max(1, Math.floor(bytesInFlight / Math.max(...sizes, 1)));
}

/** Stage one file, unless its row has ended. A file that is not staged leaves no upload, and one that is rejected no container. */
async function endOf(order: Order, denied: DenyList, dependencies: StageDependencies, ...time: Time): Promise<End> {
  const { state, key, uploadId } = order;
  const end: End = isOpenState(state) ? await attempt(order, denied, dependencies, ...time) : { outcome: 'ended' };
  const isDone = end.outcome === 'staged' || end.outcome === 'continued';
  if (!isDone && key && uploadId) await dependencies.outbox.upload(key, {}, uploadId).abort();
  if (end.outcome !== 'rejected') return end;
  // Another delivery of this message may have staged the file meanwhile.
  const [now] = await findOrders(dependencies.db, [order]);
  if (now && keepsContainer(now.state)) return { outcome: 'ended' };
  await removeContainer(order, dependencies);
  return end;
}

const keepsContainer = (state: Order['state']) => ['staged', 'superseded', 'given_up'].includes(state);

/** An error that no repetition mends is an end. Others are thrown. */
async function attempt(order: Order, denied: DenyList, dependencies: StageDependencies, ...time: Time): Promise<End> {
  try {
    const due = dueOrder(order, denied);
    const stage = due.archived.archiveFileSize > largestSmallBody ? copyLarge : stageSmall;
    return await nameDamagedFile(order.fileId, () => stage(due, dependencies, ...time));
  } catch (error) {
    if (isDamage(error)) return { outcome: 'given_up', reason: error.code, detail: error.message };
    if (!isError(error, 'request_rejected')) throw error;
    return { outcome: 'rejected', reason: error.reason ?? '', detail: error.message };
  }
}

/**
 * Take the container of this request out of the outbox, if an invocation that died or was overtaken has left it there. It had replaced the
 * containers of older requests, so these are recorded as withdrawn before.
 */
async function removeContainer(order: Order, dependencies: StageDependencies): Promise<void> {
  const { key, requestId } = order;
  const present = key === undefined ? undefined : await dependencies.outbox.head(key);
  if (key === undefined || present?.metadata[outboxMetadata.requestId] !== requestId) return;
  await recordWithdrawn(order, dependencies, present.size);
  await dependencies.outbox.remove(key, present.etag);
}

async function recordWithdrawn(order: Order, dependencies: StageDependencies, bytes?: number): Promise<void> {
  const { requestId, fileId, key = '' } = order;
  const removal = { requestId, fileId, key, end: 'withdrawn', bytes, owner: requestId } as const;
  await sendToSettle(await recordRemoval([removal], 'withdrawn', dependencies.db), dependencies);
}

/**
 * Stage a file of at most 8 MiB: one GetObject, one PutObject. The write says on which condition it may happen, so the
 * outbox is looked at only when S3 refuses it.
 */
async function stageSmall(
  order: DueOrder,
  dependencies: StageDependencies,
  remainingMs: () => number,
  foundMs: number,
): Promise<End> {
  const { archive, outbox, archiveKeys } = dependencies;
  const { key, archived } = order;
  const { header, headerSha256 } = await headerOf(order, archiveKeys);
  const { container, bodyCrc } = await archive.readWhole(archived, archived.archiveFileSize, header);
  const crc64nvme = await containerCrc(header, { bodySize: archived.archiveFileSize, crc64nvme: bodyCrc });
  if (foundMs - remainingMs() > freshMs && !(await isStillDue(order, dependencies))) return { outcome: 'ended' };
  const metadata = outboxMetadataOf({ ...order, headerSha256 });
  let replaces: string | undefined;
  for (const _ of ['nothing exists', 'an older container exists']) {
    checkTimeLeft(remainingMs);
    if ((await outbox.put(key, container, metadata, replaces, crc64nvme)) === 'written') {
      return { outcome: 'staged', bytes: container.length, headerSha256, crc64nvme };
    }
    const { present, end } = await alreadyWritten(order, dependencies);
    if (end) return end;
    replaces = present?.etag;
  }
  throw unavailable('another request wrote this container at the same time');
}

/**
 * Record all ends by one statement, and take back what is staged by a row that was withdrawn, rejected or deleted meanwhile. Then requests
 * without an open file are sent on, also those whose rows had all ended before: who recorded them may have died. A message whose row was
 * not written fails, and the next delivery finds its container.
 */
async function record(tasks: readonly Task[], dependencies: StageDependencies): Promise<void> {
  const { db, outbox, filesInFlight } = dependencies;
  try {
    const recorded = await recordEnds(db, tasks, filesInFlight);
    const rowOf = (task: Task) => recorded.find(isSameFile(task));
    for (const task of tasks) {
      const { order, end } = task;
      const was = rowOf(task)?.was ?? 'withdrawn';
      if (!order || end.outcome === 'failed') continue;
      if (was === 'withdrawn' || was === 'rejected') {
        await removeContainer(order, dependencies);
        if (end.outcome === 'staged') task.end = { outcome: 'ended' };
      } else if (end.outcome === 'rejected' && was === 'staged' && order.key && !(await outbox.head(order.key))) {
        // Two deliveries crossed: the other one recorded the container that this one was removing.
        await recordWithdrawn(order, dependencies);
      }
    }
    const touched = tasks.filter((task) => task.end.outcome === 'ended' || rowOf(task)?.maySettle);
    const ids = touched.map(({ requestId }) => requestId);
    await sendToSettle(ids, dependencies);
  } catch (error) {
    for (const task of tasks) if (task.end.outcome !== 'failed') task.end = failed(error);
  }
}
