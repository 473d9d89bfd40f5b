import { forEachConcurrently } from '../../common/concurrently.ts';
import { combinedCrc, crcOf, formatCrc, parseCrc } from '../../common/crc64nvme.ts';
import { systemTiming, type Timing } from '../../common/timing.ts';
import { damaged, unavailable } from '../../errors.ts';
import type {
  Archive,
  ContainerSource,
  MultipartUpload,
  ObjectMetadata,
  OutboxWriter,
  UploadedPart,
  WriteResult,
} from '../archive/ports.ts';
import { AdaptiveConcurrency } from './adaptive-concurrency.ts';
import { type MultipartPlan, planContainer } from './plan.ts';

/** Time that is kept for ending cleanly: the copies in flight, the abort or the record of the parts, the reply. */
export const cleanUpMs = 20_000;

export interface OutboxContainer {
  readonly key: string;
  readonly metadata: ObjectMetadata;
  readonly header: Uint8Array;
  readonly body: ContainerSource;
  /** First byte of the archived body that the container takes. It takes `body.bodySize` bytes from there. @default 0 */
  readonly bodyStart?: number;
  /** ETag of the container that this one replaces; `undefined` when there is none. */
  readonly replaces: string | undefined;
}

export interface WriteDependencies {
  readonly archive: Archive;
  readonly outbox: Pick<OutboxWriter, 'put' | 'startUpload'>;
  readonly remainingMs: () => number;
  /** Milliseconds for which a part is repeated while S3 asks to slow down. @default - until the invocation ends */
  readonly patienceMs?: number;
  /** Called when all copies are made, which may take minutes, and nothing is visible yet. @throws when nothing may become visible */
  readonly confirm: () => Promise<void>;
}

/**
 * Write `header || body` to the outbox. The container becomes visible in one step, when it is whole; on any error, and on
 * a conflict, nothing of it is left behind.
 *
 * @throws `temporarily_unavailable` also when the invocation ends too soon for the next step; what `confirm` throws
 */
export async function writeContainer(
  container: OutboxContainer,
  dependencies: WriteDependencies,
): Promise<WriteResult> {
  const { key, header, body, metadata, replaces } = container;
  const plan = planContainer(header.length, body.bodySize);
  const crc64nvme = await containerCrc(header, body);
  if (plan.kind === 'put') {
    const bytes = await headerAndBody(container, body.bodySize, dependencies.archive);
    return dependencies.outbox.put(key, bytes, metadata, replaces, crc64nvme);
  }
  const upload = await dependencies.outbox.startUpload(key, metadata);
  let result: WriteResult | undefined;
  try {
    const parts = await sendParts(upload, container, plan, dependencies);
    checkTimeLeft(dependencies.remainingMs);
    await dependencies.confirm();
    result = await upload.complete(parts, header.length + body.bodySize, replaces, crc64nvme);
    return result;
  } finally {
    if (result !== 'written') await upload.abort();
  }
}

export function checkTimeLeft(remainingMs: () => number): void {
  if (remainingMs() < cleanUpMs) {
    throw unavailable('the invocation ends soon, the container needs another one');
  }
}

/**
 * The CRC-64/NVME of `header || body`, base64, from the one that S3 has of the body: no byte of the body is read.
 * `undefined` when S3 has none.
 */
export async function containerCrc(
  header: Uint8Array,
  { bodySize, crc64nvme }: Pick<ContainerSource, 'bodySize' | 'crc64nvme'>,
): Promise<string | undefined> {
  if (crc64nvme === undefined) return undefined;
  return formatCrc(combinedCrc(await crcOf(header), parseCrc(crc64nvme), bodySize));
}

/** What a copy that was interrupted continues from. */
export interface PartRecord {
  readonly done: readonly UploadedPart[];
  /** Called with each further part as soon as S3 has it. */
  readonly add: (part: UploadedPart) => Promise<void>;
}

/**
 * Send and copy every part that is not in the record. When this throws, nothing is in flight.
 *
 * @returns all parts, in order
 * @throws as {@link writeContainer}
 */
export async function sendParts(
  upload: MultipartUpload,
  container: Pick<OutboxContainer, 'header' | 'body' | 'bodyStart'>,
  plan: MultipartPlan,
  {
    archive,
    remainingMs,
    patienceMs = Number.POSITIVE_INFINITY,
    timing = systemTiming,
  }: Pick<WriteDependencies, 'archive' | 'remainingMs' | 'patienceMs'> & { timing?: Timing },
  record: PartRecord = { done: [], add: async () => {} },
): Promise<readonly UploadedPart[]> {
  const { body, bodyStart = 0 } = container;
  const parts = new Map(record.done.map((part) => [part.partNumber, part]));
  const concurrency = new AdaptiveConcurrency(timing);
  const checkTime = () => checkTimeLeft(remainingMs);
  const send = async (call: () => Promise<UploadedPart>) => {
    checkTime();
    const giveUpAt = timing.now().getTime() + patienceMs;
    const part = await concurrency.run(call, () => {
      checkTime();
      if (timing.now().getTime() > giveUpAt)
        throw unavailable('S3 asks for fewer calls at once', { wantsFewerCalls: true });
    });
    parts.set(part.partNumber, part);
    await record.add(part);
  };
  if (!parts.has(1)) {
    checkTime();
    const bytes = await headerAndBody(container, plan.sent, archive);
    await send(() => upload.uploadPart(1, bytes));
  }
  const missing = plan.copies.filter(({ partNumber }) => !parts.has(partNumber));
  await forEachConcurrently(
    missing,
    () => concurrency.limit,
    ({ partNumber, start, end }) =>
      send(() => upload.copyPart(partNumber, body, { start: bodyStart + start, end: bodyStart + end })),
  );
  return [...parts.values()].sort((a, b) => a.partNumber - b.partNumber);
}

/** The header and the first `count` bytes of the body. S3 answers an empty range with 416, so none is read. */
async function headerAndBody(
  { header, body, bodyStart: start = 0 }: Pick<OutboxContainer, 'header' | 'body' | 'bodyStart'>,
  count: number,
  archive: Archive,
): Promise<Uint8Array> {
  if (count === 0) return header;
  const bytes = await archive.read(body.address, { start, end: start + count, etag: body.archiveEtag });
  if (bytes.length !== count) {
    throw damaged(`expected ${count} bytes of the body, the archive gave ${bytes.length}`);
  }
  return Buffer.concat([header, bytes]);
}
