import { ArchiveDamagedError, TemporarilyUnavailableError } from '../errors.ts';
import { forEachConcurrently } from './concurrency.ts';
import { type CopyPart, planContainer } from './plan.ts';
import type { Archive, ContainerSource, MultipartUpload, OutboxWriter, WriteResult } from './ports.ts';

/** Copies in flight at once. S3 works on each alone, so many at once make a large file quick. */
const copiesInFlight = 32;

/** Time that is kept for ending cleanly: the copies in flight, the abort, the reply. */
const cleanUpMs = 20_000;

/** A container on its way to the outbox. */
export interface OutboxContainer {
  /** Outbox key. */
  readonly key: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The header for the recipient. */
  readonly header: Uint8Array;
  readonly body: ContainerSource;
  /** First byte of the archived body that the container takes. It takes `body.bodySize` bytes from there. @default 0 */
  readonly bodyStart?: number;
  /** ETag of the container that this one replaces; `undefined` when there is none. */
  readonly replaces: string | undefined;
}

export interface WriteDependencies {
  readonly archive: Archive;
  readonly outbox: OutboxWriter;
  /** Milliseconds until the invocation ends. */
  readonly remainingMs: () => number;
  /** Called when all copies are made, which may take minutes, and nothing is visible yet. @throws when nothing may become visible */
  readonly confirm: () => Promise<void>;
}

/**
 * Write `header || body` to the outbox. The container becomes visible in one step, when it is whole; on any error, and on
 * a conflict, nothing of it is left behind.
 *
 * @throws TemporarilyUnavailableError also when the invocation ends too soon for the next step; ArchiveDamagedError; what
 * `confirm` throws
 */
export async function writeContainer(
  container: OutboxContainer,
  dependencies: WriteDependencies,
): Promise<WriteResult> {
  const { key, header, body, metadata, replaces } = container;
  const plan = planContainer(header.length, body.bodySize);
  if (plan.kind === 'put') {
    const bytes = await headerAndBody(container, body.bodySize, dependencies.archive);
    return dependencies.outbox.put(key, bytes, metadata, replaces);
  }
  const upload = await dependencies.outbox.startUpload(key, metadata);
  let result: WriteResult | undefined;
  const checkTime = () => checkTimeLeft(dependencies.remainingMs);
  try {
    checkTime();
    await upload.uploadPart(1, await headerAndBody(container, plan.sent, dependencies.archive));
    await copyAll(upload, container, plan.copies, checkTime);
    checkTime();
    await dependencies.confirm();
    result = await upload.complete(header.length + body.bodySize, replaces);
    return result;
  } finally {
    if (result !== 'written') await upload.abort();
  }
}

/** @throws TemporarilyUnavailableError when the invocation ends too soon for another step */
export function checkTimeLeft(remainingMs: () => number): void {
  if (remainingMs() < cleanUpMs) {
    throw new TemporarilyUnavailableError('the invocation ends soon, the container needs another one');
  }
}

async function copyAll(
  upload: MultipartUpload,
  { body, bodyStart = 0 }: OutboxContainer,
  copies: readonly CopyPart[],
  checkTime: () => void,
): Promise<void> {
  await forEachConcurrently(copies, copiesInFlight, async ({ partNumber, start, end }) => {
    checkTime();
    await upload.copyPart(partNumber, body, { start: bodyStart + start, end: bodyStart + end });
  });
}

/** The header and the first `count` bytes of the body. S3 answers an empty range with 416, so none is read. */
async function headerAndBody(
  { header, body, bodyStart: start = 0 }: OutboxContainer,
  count: number,
  archive: Archive,
): Promise<Uint8Array> {
  if (count === 0) return header;
  const bytes = await archive.read(body.address, { start, end: start + count, etag: body.archiveEtag });
  if (bytes.length !== count) {
    throw new ArchiveDamagedError(`expected ${count} bytes of the body, the archive gave ${bytes.length}`);
  }
  return Buffer.concat([header, bytes]);
}
