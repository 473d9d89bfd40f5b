import { randomUUID } from 'node:crypto';
import { DataOutError, isDamage, isError, unavailable } from '../../errors.ts';
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

/**
 * Stage a file over 8 MiB: a multipart upload, of which S3 copies all but the first part. A copy that one invocation does not
 * finish leaves its upload, and the parts in the record of the copy. The next delivery continues from there.
 *
 * @throws `request_rejected` when the release or the visa was withdrawn meanwhile; `temporarily_unavailable` with
 * `retryAfterSeconds` 0 when the message has to come back at once
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
  if (withoutProgress > mostWithoutProgress) throw new CopyGivenUpError();
  if (delivery.redelivered && !upload) await abortUnrecorded(key, dependencies);
  const present = await outbox.head(key);
  const made = await headerOf(order, archiveKeys);
  const written = alreadyWritten(present, message, made.headerSha256);
  if (written) {
    await dropCopy(message, dependencies);
    return written;
  }
  return copyFile({ ...order, ...made, holder, upload, present }, dependencies, delivery);
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
  const body = await bodySource(file, archive, { checksum: true }).catch(async (error: unknown) => {
    // Until an operator restores the body, no delivery can resume the copy.
    if (isDamage(error)) await dropCopy(message, dependencies);
    throw error;
  });
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
    const result = await upload.complete(parts, bytes, present?.etag, crc64nvme);
    if (result === 'written') {
      if (isRecorded) await copies.forget(message);
      return { outcome: 'staged', bytes, headerSha256, crc64nvme };
    }
    const other = alreadyWritten(await outbox.head(key), message, headerSha256);
    if (!other) throw unavailable('another request wrote this container at the same time');
    await drop();
    return other;
  } catch (error) {
    if (!isRecorded || isDamage(error) || isError(error, 'request_rejected')) await drop();
    else if (record.hasProgress && endsSoon()) throw unfinished(error);
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

function unfinished(cause: unknown): DataOutError {
  return unavailable('the invocation ends soon; the next one resumes the copy', {
    retryAfterSeconds: 0,
    cause,
  });
}

/** The copy is given up. Only SQS puts its message into the dead letters, so it comes back until its receives are used up. */
export class CopyGivenUpError extends DataOutError {
  constructor() {
    const message = `${mostWithoutProgress} deliveries brought no new part: the copy is given up`;
    super('temporarily_unavailable', message, { retryAfterSeconds: 0 });
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

  /** Save all parts that are not saved yet. @throws `temporarily_unavailable` also when another delivery continues */
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
      throw unavailable('another delivery of this message continues the copy');
    }
    this.hasProgress = true;
  }
}
