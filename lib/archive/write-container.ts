import { ArchiveDamagedError } from '../errors.ts';
import { forEachConcurrently } from './concurrency.ts';
import { type CopyPart, planContainer } from './plan.ts';
import type { Archive, ContainerSource, MultipartUpload, OutboxWriter, WriteResult } from './ports.ts';

/** Copies in flight at once: S3 works on each alone, so the sum is what makes a large file quick. */
const copiesInFlight = 32;

export interface Container {
  /** Outbox key. */
  readonly key: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The header for the recipient. */
  readonly header: Uint8Array;
  readonly body: ContainerSource;
  /** Where in the archived body that of the container begins, whose size is `body.bodySize`. @default 0 */
  readonly bodyStart?: number;
  /** ETag of the container that this one replaces; `undefined` when there is none. */
  readonly replaces: string | undefined;
}

/** Milliseconds that a function keeps for a clean end: the copies in flight, the abort, the reply. */
export const cleanUpMs = 20_000;

export interface WriteDependencies {
  readonly archive: Archive;
  readonly outbox: OutboxWriter;
  /** Called before each step that takes time. @throws when there is not enough of it left */
  readonly checkTime: () => void;
  /** Called when all copies are made, which may take minutes, and nothing is visible yet. @throws when nothing may be */
  readonly confirm: () => Promise<void>;
}

/**
 * Write `header || body` to the outbox. The container becomes visible in one step, when it is whole; on any error, and on
 * a conflict, nothing of it is left behind.
 */
export async function writeContainer(container: Container, dependencies: WriteDependencies): Promise<WriteResult> {
  const { key, header, body, metadata, replaces } = container;
  const plan = planContainer(header.length, body.bodySize);
  if (plan.kind === 'put') {
    const bytes = await headerAndBody(container, body.bodySize, dependencies.archive);
    return dependencies.outbox.put(key, bytes, metadata, replaces);
  }
  const upload = await dependencies.outbox.startUpload(key, metadata);
  let result: WriteResult | undefined;
  try {
    dependencies.checkTime();
    await upload.uploadPart(1, await headerAndBody(container, plan.sent, dependencies.archive));
    await copyAll(upload, container, plan.copies, dependencies.checkTime);
    dependencies.checkTime();
    await dependencies.confirm();
    result = await upload.complete(header.length + body.bodySize, replaces);
    return result;
  } finally {
    if (result !== 'written') await upload.abort();
  }
}

async function copyAll(
  upload: MultipartUpload,
  { body, bodyStart = 0 }: Container,
  copies: readonly CopyPart[],
  checkTime: () => void,
): Promise<void> {
  await forEachConcurrently(copies, copiesInFlight, async ({ partNumber, start, end }) => {
    checkTime();
    await upload.copyPart(partNumber, body, { start: bodyStart + start, end: bodyStart + end });
  });
}

/** The header and the first `count` bytes of the body. An empty range is not asked for: S3 answers it with 416. */
async function headerAndBody(
  { header, body, bodyStart: start = 0 }: Container,
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
