import { createHash } from 'node:crypto';
import { outboxMetadataOf } from '../../../contract/outbox-key.ts';
import { isDamage, isError, unavailable } from '../../../errors.ts';
import { bodySource } from '../../archive/archived-file.ts';
import type { ObjectMetadata } from '../../archive/ports.ts';
import { planMultipart } from '../../containers/plan.ts';
import { checkTimeLeft, cleanUpMs, containerCrc, sendParts } from '../../containers/write-container.ts';
import { isOpen, requestIds } from '../requests.ts';
import { alreadyWritten, type DueOrder, type End, headerOf, isStillDue, type StageDependencies } from './order.ts';

/** Bytes a millisecond that S3 copies at the least. A part of 5 GiB may take 215 s, so none begins in the last minutes of an invocation. */
const slowestCopy = 25_000;

/**
 * Stage a file over 8 MiB: a multipart upload, of which S3 copies all but the first part. The row of the file has the id of the upload, and
 * S3 knows its parts. Each part number has the same bytes whoever copies it, so two deliveries may work on one upload.
 *
 * A copy that one invocation does not finish sends its own message again, as long as each invocation brings at least one new part.
 */
export async function copyLarge(
  order: DueOrder,
  dependencies: StageDependencies,
  remainingMs: () => number,
): Promise<End> {
  const { archive, archiveKeys, fileExports, copySize } = dependencies;
  const { header, headerSha256 } = await headerOf(order, archiveKeys);
  const lookForIt = () => alreadyWritten(order, dependencies);
  const { present, end } = await lookForIt();
  if (end) return end;
  const body = await bodySource(order.archived, archive, { checksum: true });
  const plan = planMultipart(header.length, body.bodySize, copySize);
  const bytes = header.length + body.bodySize;
  const isFor = digestOf([order.key, body.archiveEtag, headerSha256, plan.copySize]);
  const metadata = outboxMetadataOf({ ...order, headerSha256 });

  const earlier = await uploadOfRow(order, isFor, metadata, dependencies);
  const done = await earlier?.parts();
  if (earlier && !done) {
    // S3 no longer has the upload, as when another delivery has completed it.
    const completed = await lookForIt();
    if (completed.end) return completed.end;
  }
  const upload = earlier && done ? earlier : await beginUpload(order, isFor, metadata, dependencies);
  const aborted = async (otherEnd: End) => {
    await upload.abort();
    return otherEnd;
  };
  const copyMs = () => remainingMs() - plan.copySize / slowestCopy;
  let newParts = 0;
  try {
    const add = async () => {
      newParts += 1;
    };
    const record = { done: done ?? [], add };
    const parts = await sendParts(upload, { header, body }, plan, { archive, remainingMs: copyMs }, record);
    checkTimeLeft(remainingMs);
    // The copies may have taken minutes, and nothing is visible yet.
    if (!(await isStillDue(order, dependencies))) return await aborted({ outcome: 'ended' });
    const crc64nvme = await containerCrc(header, body);
    if ((await upload.complete(parts, bytes, present?.etag, crc64nvme)) === 'written') {
      return { outcome: 'staged', bytes, headerSha256, crc64nvme };
    }
    const other = await lookForIt();
    if (!other.end) throw unavailable('another request wrote this container at the same time');
    return await aborted(other.end);
  } catch (error) {
    if (isDamage(error) || isError(error, 'request_rejected')) await upload.abort();
    const isOutOfTime = isError(error, 'temporarily_unavailable') && copyMs() < cleanUpMs;
    if (!isOutOfTime || newParts === 0) throw error;
    await fileExports.send(order.requestId, [order.fileId], order.recipient);
    return { outcome: 'continued' };
  }
}

const digestOf = (facts: readonly unknown[]) => createHash('sha256').update(JSON.stringify(facts)).digest('hex');

/** The upload that the row has, if it is for the same bytes. Any other is of no use, and is aborted. */
async function uploadOfRow(order: DueOrder, isFor: string, metadata: ObjectMetadata, { outbox }: StageDependencies) {
  if (order.uploadId === undefined) return undefined;
  const upload = outbox.upload(order.key, metadata, order.uploadId);
  if (order.uploadFor === isFor) return upload;
  await upload.abort();
  return undefined;
}

/** Begin an upload, and write it into the row instead of the one that was found there. */
async function beginUpload(
  order: DueOrder,
  isFor: string,
  metadata: ObjectMetadata,
  { db, outbox }: StageDependencies,
) {
  const upload = await outbox.startUpload(order.key, metadata);
  try {
    const taken = await requestIds(
      db,
      `update data_out.request_files f set upload_id = :upload_id, upload_for = :upload_for
       where f.request_id = cast(:request_id as uuid) and f.file_id = :file_id and ${isOpen('f')}
         and (f.upload_id is not distinct from cast(:earlier as text) or f.upload_id = :upload_id)
       returning cast(f.request_id as text) as request_id`,
      {
        ...{ request_id: { uuid: order.requestId }, file_id: order.fileId, earlier: order.uploadId ?? null },
        ...{ upload_id: upload.uploadId, upload_for: isFor },
      },
    );
    if (taken.length > 0) return upload;
    throw unavailable('another delivery began this copy at the same time');
  } catch (error) {
    await upload.abort();
    throw error;
  }
}
