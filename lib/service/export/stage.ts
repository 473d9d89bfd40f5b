import { outboxKey } from '../../contract/outbox-key.ts';
import { publicKeyFingerprint } from '../../crypt4gh/index.ts';
import { isDamage, isError, unavailable } from '../../errors.ts';
import { nameDamagedFile } from '../archive/archived-file.ts';
import { forEachConcurrently } from '../archive/concurrency.ts';
import { outboxFileName } from '../archive/container-name.ts';
import { largestSmallBody } from '../archive/plan.ts';
import { checkTimeLeft, containerCrc } from '../archive/write-container.ts';
import {
  alreadyWritten,
  checksumOf,
  type Delivery,
  type ExportOrder,
  headerOf,
  metadataOf,
  refuseDenied,
  type StageDependencies,
  type Written,
} from './export-order.ts';
import { failureCode, sendFinalizable } from './finalizing.ts';
import type { ExportEvent, FileEnd } from './ledger-port.ts';
import { parseFileExport, parseRecipientKey, type ReceivedMessage, rejection } from './received.ts';
import { CopyGivenUpError, dropCopy, stageLarge } from './stage-large.ts';

/** Longest time for one small file. It takes less than a second, so a file that takes longer waits for a lost answer. */
const smallFileMs = 3 * 60_000;
/** Bytes of small bodies that a batch holds at once: memory stays the same for all sizes. */
const bytesInFlight = 32 * 1024 * 1024;
/** Time that is kept for the audit rows and the reply. */
const recordMs = 10_000;

/** The outcome of a file. Each is final: the message can go. */
export type StageOutcome = { readonly requestId: string; readonly fileId: string | undefined } & Verdict;

type Verdict = Written | { readonly outcome: 'rejected'; readonly reason: string; readonly detail: string };

/** One message on its way. */
interface Task {
  readonly delivered: ReceivedMessage;
  /** What is known so far, for the audit row. */
  facts: Omit<ExportEvent, 'event' | 'reason' | 'bytes'>;
  /** What is staged, as far as it is known. */
  order: Partial<ExportOrder>;
  end?: { readonly verdict: Verdict } | { readonly error: unknown };
}

/**
 * Stage files, each for one recipient: the header rebuilt for their key, the body copied as it is. One query finds all
 * files and notes the attempts, one statement records what happened to them, and S3 is called for all files side by side.
 *
 * Staging is safe to repeat and to run twice at once: the outbox ends with the whole container of the newest request. The
 * catalogue's size decides how a file is written, whichever queue its message came by.
 *
 * @param messages at most ten
 * @returns how each message ended, in the same order. A message that is rejected here must be delivered again: the reason
 *   is `temporarily_unavailable`, `archive_damaged` or another error of the ports.
 */
export async function stageFiles(
  messages: readonly ReceivedMessage[],
  dependencies: StageDependencies,
  remainingMs: () => number,
): Promise<readonly PromiseSettledResult<StageOutcome>[]> {
  const tasks = messages.map(
    (delivered): Task => ({ delivered, facts: { requestId: delivered.messageId }, order: {} }),
  );
  await step(tasks, async (task) => {
    checkTimeLeft(remainingMs);
    await readMessage(task, dependencies);
  });
  await findFiles(tasks, dependencies);
  await step(
    tasks,
    async (task) => {
      task.end = { verdict: await write(task, dependencies, remainingMs) };
    },
    atOnce(tasks),
  );
  await dropCopies(tasks, dependencies);
  await recordAll(tasks, dependencies);
  return tasks.map(resultOf);
}

/** Run `work` for every task that has not ended, at most `limit` at a time. A throw ends its task alone. */
async function step(tasks: readonly Task[], work: (task: Task) => Promise<void>, limit = tasks.length): Promise<void> {
  await forEachConcurrently(tasks.filter(isOpen), limit, async (task) => {
    try {
      await work(task);
    } catch (error) {
      task.end = endedBy(error);
    }
  });
}

/** How many files may be in memory at once, by the largest of them. */
function atOnce(tasks: readonly Task[]): number {
  const largest = Math.max(...tasks.map(({ order: { file } }) => file?.archiveFileSize ?? 0), 1);
  return Math.max(1, Math.min(tasks.length, Math.floor(bytesInFlight / largest)));
}

const isOpen = ({ end }: Task): boolean => end === undefined;
/** Whether the message may have been delivered before. */
const isRedelivered = ({ delivered }: Task): boolean => delivered.receive.count > 1;

function endedBy(error: unknown): NonNullable<Task['end']> {
  if (!isError(error, 'request_rejected')) return { error };
  return { verdict: { outcome: 'rejected', reason: error.reason ?? error.code, detail: error.message } };
}

async function readMessage(task: Task, { denied }: StageDependencies): Promise<void> {
  const message = parseFileExport(task.delivered);
  const { requestId, fileId, datasetId, recipient } = message;
  task.facts = { requestId, fileId, datasetId, recipient };
  task.order = { message };
  const publicKey = parseRecipientKey(message.publicKey);
  task.facts = { ...task.facts, keyFingerprint: publicKeyFingerprint(publicKey) };
  task.order = { message, publicKey };
  await refuseDenied(message, denied);
}

/** One query for the files of all tasks. It notes the attempt, also of a file that is refused already. */
async function findFiles(tasks: readonly Task[], { catalogue }: StageDependencies): Promise<void> {
  const asking = tasks.flatMap((task) => (task.order.message ? [{ task, message: task.order.message }] : []));
  if (asking.length === 0) return;
  const attempts = asking.map(({ task, message }) => ({
    ...message,
    isFirst: !isRedelivered(task),
    isLast: task.delivered.receive.isLast,
  }));
  const [finding] = await Promise.allSettled([catalogue.findReleasedFiles(attempts)]);
  await step(tasks, async (task) => {
    if (finding.status === 'rejected') throw finding.reason;
    const found = finding.value[asking.findIndex((one) => one.task === task)];
    if (found?.status === 'rejected') throw found.reason;
    const file = found?.value;
    if (!file) throw rejection('not_released', 'the dataset is not released, or no longer holds the file');
    task.order = { ...task.order, file };
  });
}

async function write(task: Task, dependencies: StageDependencies, remainingMs: () => number): Promise<Written> {
  const redelivered = isRedelivered(task);
  const { message, publicKey, file } = task.order as Pick<ExportOrder, 'message' | 'publicKey' | 'file'>;
  const key = outboxKey(message.recipient, outboxFileName(file.fileId, file.submissionFilePath));
  task.order = { ...task.order, key };
  const isSmall = file.archiveFileSize <= largestSmallBody;
  const limitMs = Math.min(remainingMs() - recordMs, isSmall ? smallFileMs : Number.POSITIVE_INFINITY);
  const stage = isSmall ? stageSmall : stageLarge;
  return within(limitMs, remainingMs, (leftMs) =>
    nameDamagedFile(file.fileId, () =>
      stage({ key, message, publicKey, file }, dependencies, { redelivered, remainingMs: leftMs }),
    ),
  );
}

/**
 * Stage a file of at most 8 MiB: one GetObject, one PutObject. The write says on which condition it may happen, so the
 * outbox is looked at only when S3 refuses it.
 */
async function stageSmall(
  order: ExportOrder,
  { archive, outbox, archiveKeys }: StageDependencies,
  { remainingMs }: Delivery,
): Promise<Written> {
  const { key, message, publicKey, file } = order;
  const { header, headerSha256 } = await headerOf(order, archiveKeys);
  const { container, bodyCrc } = await archive.readWhole(file, file.archiveFileSize, header);
  const crc64nvme = await containerCrc(header, { bodySize: file.archiveFileSize, crc64nvme: bodyCrc });
  const metadata = metadataOf({ message, publicKey });
  let replaces: string | undefined;
  for (const _ of ['nothing exists', 'an older container exists']) {
    checkTimeLeft(remainingMs);
    if ((await outbox.put(key, container, metadata, replaces, crc64nvme)) === 'written') {
      return { outcome: 'staged', bytes: container.length, headerSha256, crc64nvme };
    }
    const present = await outbox.head(key);
    const written = alreadyWritten(present, message, headerSha256);
    if (written) return written;
    replaces = present?.etag;
  }
  throw unavailable('another request wrote this container at the same time');
}

/**
 * Run `work` for at most `limitMs`. After that it is told that no time is left, so that it starts nothing more, and one
 * file that waits for an answer keeps no other from its audit row.
 */
async function within<T>(
  limitMs: number,
  remainingMs: () => number,
  work: (remainingMs: () => number) => Promise<T>,
): Promise<T> {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isOver = true;
      reject(unavailable('the file was not staged in time'));
    }, limitMs);
  });
  try {
    return await Promise.race([work(() => (isOver ? 0 : remainingMs())), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Leave nothing of an earlier delivery behind for a file that is rejected now. */
async function dropCopies(tasks: readonly Task[], dependencies: StageDependencies): Promise<void> {
  for (const task of tasks) {
    const { message } = task.order;
    const isRejected = task.end && 'verdict' in task.end && task.end.verdict.outcome === 'rejected';
    if (!isRejected || !message || !isRedelivered(task)) continue;
    await dropCopy(message, dependencies).catch((error: unknown) => {
      task.end = { error };
    });
  }
}

/**
 * One statement for all rows. If the database refuses it for good, the rows of each task are written alone. A task
 * whose rows are not written fails, also when its container is staged: the next delivery finds the container and writes
 * them. Then requests whose files have all ended are sent on.
 */
async function recordAll(tasks: readonly Task[], dependencies: StageDependencies): Promise<void> {
  const write = async (some: readonly Task[]) => {
    try {
      const ended = await dependencies.ledger.record(some.flatMap(endOf), some.flatMap(eventOf));
      await sendFinalizable(ended, dependencies);
    } catch (error) {
      if (some.length > 1 && !isError(error, 'temporarily_unavailable')) {
        for (const task of some) await write([task]);
      } else for (const task of some) if (!task.end || !('error' in task.end)) task.end = { error };
    }
  };
  const worth = tasks.filter((task) => endOf(task).length > 0 || eventOf(task).length > 0);
  if (worth.length > 0) await write(worth);
}

/** Why the file of a task is given up; `undefined` while it is not. */
function givenUpFor({ delivered, end }: Task): ReturnType<typeof failureCode> | undefined {
  if (!end || !('error' in end)) return undefined;
  const isFinal = end.error instanceof CopyGivenUpError || isDamage(end.error);
  const isGivenUp = delivered.receive.isLast || isFinal;
  return isGivenUp ? giveUpReason(end.error) : undefined;
}

/** Why a file is given up whose last attempt failed with this error. */
export function giveUpReason(error: unknown): ReturnType<typeof failureCode> {
  return error instanceof CopyGivenUpError ? 'no_progress' : failureCode(error);
}

/** What happened to the file of a task. None for a message that names no file. */
function endOf(task: Task): readonly FileEnd[] {
  const { facts, order, end } = task;
  const { requestId, fileId } = facts;
  if (fileId === undefined || !end) return [];
  const file = { requestId, fileId };
  if ('error' in end) {
    const reason = givenUpFor(task);
    return [
      reason === undefined
        ? { ...file, state: 'retrying', reason: failureCode(end.error) }
        : { ...file, state: 'given_up', reason },
    ];
  }
  const { verdict } = end;
  if (verdict.outcome === 'rejected') return [{ ...file, state: 'rejected', reason: verdict.reason }];
  const inOutbox = { ...file, outboxKey: order.key };
  if (verdict.outcome === 'superseded') return [{ ...inOutbox, state: 'superseded', supersededBy: verdict.by }];
  const { outcome: _, ...container } = verdict;
  return [{ ...inOutbox, ...container, state: 'staged' }];
}

/**
 * The audit row of a task. Also for a container of an earlier delivery, which may have ended before it wrote the row. A
 * superseded file has none.
 */
function eventOf(task: Task): readonly ExportEvent[] {
  const { facts, end } = task;
  const reason = givenUpFor(task);
  if (reason !== undefined) return [{ ...facts, event: 'given_up', reason }];
  if (!end || 'error' in end || end.verdict.outcome === 'superseded') return [];
  const { verdict } = end;
  if (verdict.outcome === 'rejected') return [{ ...facts, event: 'rejected', reason: verdict.reason }];
  const checksum = verdict.outcome === 'staged' && { checksum: checksumOf(verdict.crc64nvme) };
  return [{ ...facts, event: 'staged', bytes: verdict.bytes, ...checksum }];
}

function resultOf({ facts: { requestId, fileId }, end }: Task): PromiseSettledResult<StageOutcome> {
  if (!end) throw new Error('a message was left without a verdict');
  if ('error' in end) return { status: 'rejected', reason: end.error };
  return { status: 'fulfilled', value: { requestId, fileId, ...end.verdict } };
}
