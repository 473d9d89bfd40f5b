import { randomUUID } from 'node:crypto';
import {
  ArchiveDamagedError,
  BodyMissingError,
  RequestRejectedError,
  TemporarilyUnavailableError,
} from '../../errors.ts';
import { bodySource } from '../archive/archived-file.ts';
import { planMultipart } from '../archive/plan.ts';
import type { Clock, MultipartUpload, ObjectHead, UploadedPart } from '../archive/ports.ts';
import { checkTimeLeft, cleanUpMs, containerCrc, type PartRecord, sendParts } from '../archive/write-container.ts';
import {
  alreadyWritten,
  confirmReleased,
  type Delivery,
  type ExportOrder,
  headerOf,
  metadataOf,
  type StageDependencies,
  type Written,
} from './export-order.ts';
import type { CopyId, RecordedUpload, UploadFacts } from './ledger-port.ts';

/** Longest time a function may run. The invocation of an older upload has ended. */
const longestInvocationMs = 15 * 60 * 1000;
/** Deliveries without a new part after which the message is put aside. */
const mostWithoutProgress = 5;
/** Recorded instead of a number of deliveries when S3 has refused the bytes, which it would refuse again. */
const refusedBytes = 1000;

/**
 * Stage a file over 8 MiB: a multipart upload, of which S3 copies all but the first part. A copy that one invocation does not
 * finish leaves its upload, and the parts in the record of the copy. The next delivery continues from there.
 *
 * @throws RequestRejectedError when the release or the visa was withdrawn meanwhile; errors of the ports;
 * TemporarilyUnavailableError with `retryAfterSeconds` 0 when the message has to come back at once
 */
export async function stageLarge(
  order: ExportOrder,
  dependencies: StageDependencies,
  delivery: Delivery,
): Promise<Written> {
  const { key, message } = order;
  const { outbox, copies, archiveKeys } = dependencies;
  const holder = randomUUID();
  const { withoutProgress, upload } = await copies.take(message, holder, !delivery.redelivered);
  if (withoutProgress > refusedBytes) throw new CopyGivenUpError('archive_damaged');
  if (withoutProgress > mostWithoutProgress) throw new CopyGivenUpError('no_progress');
  if (delivery.redelivered && !upload) await abortUnrecorded(key, dependencies);
  const present = await outbox.head(key);
  const made = await headerOf(order, archiveKeys);
  const written = alreadyWritten(present, message, made.headerSha256);
  if (written) {
    await dropCopy(message, dependencies);
    return written;
  }
  try {
    return await copyFile({ ...order, ...made, holder, withoutProgress, upload, present }, dependencies, delivery);
  } catch (error) {
    // Until an operator restores the body, no delivery can resume the copy.
    if (error instanceof BodyMissingError) await dropCopy(message, dependencies);
    throw error;
  }
}

/** Abort the upload of a copy that no delivery will continue, and forget the copy. */
export async function dropCopy(
  id: CopyId,
  { copies, outbox }: Pick<StageDependencies, 'copies' | 'outbox'>,
): Promise<void> {
  const upload = await copies.find(id);
  if (upload) await outbox.abortUpload(upload.outboxKey, upload.uploadId);
  await copies.forget(id);
}

/**
 * Abort what an invocation left that died before it could record its upload. An invocation that may still run began later
 * than this.
 */
async function abortUnrecorded(key: string, { outbox, copies, now }: StageDependencies): Promise<void> {
  const recorded = await copies.uploadsTo(key);
  await outbox.abortUploads(key, new Date(now().getTime() - longestInvocationMs), recorded);
}

interface Copy extends ExportOrder {
  readonly holder: string;
  /** Deliveries without a new part, this one included. */
  readonly withoutProgress: number;
  /** The upload of an earlier delivery. */
  readonly upload: RecordedUpload | undefined;
  /** The object that the container replaces. */
  readonly present: ObjectHead | undefined;
  readonly header: Uint8Array;
  readonly headerSha256: string;
}

async function copyFile(copy: Copy, dependencies: StageDependencies, { remainingMs }: Delivery): Promise<Written> {
  const { key, message, file, present, header, headerSha256 } = copy;
  const { archive, outbox, copies, now, copySize } = dependencies;
  const body = await bodySource(file, archive, { checksum: true });
  const plan = planMultipart(header.length, body.bodySize, copySize);
  const { archiveEtag: sourceEtag } = body;
  const facts: UploadFacts = { outboxKey: key, sourceEtag, headerDigest: headerSha256, partSize: plan.copySize };

  const { upload, isRecorded, done } = await uploadFor(copy, facts, dependencies);
  const save = (parts: RecordedUpload['parts']) => copies.save(message, copy.holder, parts);
  const endsSoon = () => remainingMs() < cleanUpMs;
  const record = new SavedParts({ done, save: isRecorded ? save : async () => true, endsSoon, now });
  const drop = async () => {
    await upload.abort();
    if (isRecorded) await copies.forget(message);
  };
  let countIfDamaged = copy.withoutProgress;
  try {
    let parts: Awaited<ReturnType<typeof sendParts>>;
    try {
      parts = await sendParts(upload, { header, body }, plan, { archive, remainingMs }, record);
    } finally {
      await record.flush();
    }
    checkTimeLeft(remainingMs);
    await confirmReleased({ message, file }, dependencies);
    const crc64nvme = await containerCrc(header, body);
    const bytes = header.length + body.bodySize;
    countIfDamaged = refusedBytes;
    const result = await upload.complete(parts, bytes, present?.etag, crc64nvme);
    if (result === 'written') {
      if (isRecorded) await copies.forget(message);
      return { outcome: 'staged', bytes, headerSha256, crc64nvme };
    }
    const other = alreadyWritten(await outbox.head(key), message, headerSha256);
    if (!other) throw new TemporarilyUnavailableError('another request wrote this container at the same time');
    await drop();
    return other;
  } catch (error) {
    if (!isRecorded || error instanceof RequestRejectedError) await drop();
    else if (error instanceof ArchiveDamagedError) {
      await upload.abort();
      await copies.setWithoutProgress(message, countIfDamaged);
    } else if (record.hasProgress && endsSoon()) throw unfinished(error);
    throw error;
  }
}

interface CurrentUpload {
  readonly upload: MultipartUpload;
  /** `false` when another delivery holds the record: this one copies for itself, and leaves nothing behind. */
  readonly isRecorded: boolean;
  readonly done: RecordedUpload['parts'];
}

/** The upload of an earlier delivery, if S3 still has it and it was begun for the same bytes. Otherwise a new one. */
async function uploadFor(
  { key, message, publicKey, holder, upload: earlier }: Copy,
  facts: UploadFacts,
  { outbox, copies }: StageDependencies,
): Promise<CurrentUpload> {
  const metadata = metadataOf({ message, publicKey });
  if (earlier && isFor(earlier, facts)) {
    const upload = await outbox.resumeUpload(key, metadata, earlier.uploadId);
    if (upload) return { upload, isRecorded: true, done: earlier.parts };
  } else if (earlier) {
    await outbox.abortUpload(earlier.outboxKey, earlier.uploadId);
  }
  const upload = await outbox.startUpload(key, metadata, () => copies.uploadsTo(key));
  const begun = copies.begin(message, holder, { ...facts, uploadId: upload.uploadId });
  const isRecorded = await begun.catch(async (error: unknown) => {
    await upload.abort();
    throw error;
  });
  return { upload, isRecorded, done: [] };
}

function isFor(upload: UploadFacts, facts: UploadFacts): boolean {
  return (
    upload.outboxKey === facts.outboxKey &&
    upload.sourceEtag === facts.sourceEtag &&
    upload.headerDigest === facts.headerDigest &&
    upload.partSize === facts.partSize
  );
}

function unfinished(cause: unknown): TemporarilyUnavailableError {
  return new TemporarilyUnavailableError('the invocation ends soon; the next one resumes the copy', {
    retryAfterSeconds: 0,
    cause,
  });
}

/** The copy is given up. Only SQS puts its message into the dead letters, so it comes back until its receives are used up. */
export class CopyGivenUpError extends TemporarilyUnavailableError {
  readonly reason: 'no_progress' | 'archive_damaged';

  constructor(reason: CopyGivenUpError['reason']) {
    const why = {
      no_progress: `${mostWithoutProgress} deliveries brought no new part`,
      archive_damaged: 'S3 found that the copied bytes contradict the checksum of the archived body',
    }[reason];
    super(`${why}: the copy is given up`, { retryAfterSeconds: 0 });
    this.reason = reason;
  }
}

/** Parts that one write of the record saves, and the longest time, in milliseconds, that a part waits for it. */
const batchSize = 50;
const longestWaitMs = 30_000;

export interface SavedPartsOptions {
  readonly done: readonly UploadedPart[];
  /** Resolves to `false` when another delivery goes on with the copy. */
  readonly save: (parts: readonly UploadedPart[]) => Promise<boolean>;
  /** Whether the invocation ends soon: then each part is saved at once. */
  readonly endsSoon: () => boolean;
  readonly now: Clock;
}

/** Saves the parts of a copy in batches, one batch after the other. */
export class SavedParts implements PartRecord {
  readonly done: readonly UploadedPart[];
  readonly #options: SavedPartsOptions;
  #unsaved: UploadedPart[] = [];
  #savedAt: number;
  #saving: Promise<void> = Promise.resolve();

  constructor(options: SavedPartsOptions) {
    this.#options = options;
    this.done = options.done;
    this.#savedAt = options.now().getTime();
  }

  hasProgress = false;

  readonly add = async (part: UploadedPart): Promise<void> => {
    this.#unsaved.push(part);
    const waited = this.#options.now().getTime() - this.#savedAt;
    if (this.#unsaved.length >= batchSize || waited >= longestWaitMs || this.#options.endsSoon()) await this.flush();
  };

  /** Save all parts that are not saved yet. @throws TemporarilyUnavailableError also when another delivery continues */
  flush(): Promise<void> {
    this.#saving = this.#saving.then(() => this.#save());
    return this.#saving;
  }

  async #save(): Promise<void> {
    const batch = this.#unsaved;
    if (batch.length === 0) return;
    this.#unsaved = [];
    this.#savedAt = this.#options.now().getTime();
    if (!(await this.#options.save(batch))) {
      throw new TemporarilyUnavailableError('another delivery of this message continues the copy');
    }
    this.hasProgress = true;
  }
}
