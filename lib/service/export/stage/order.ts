import { createHash } from 'node:crypto';
import * as z from 'zod';
import { rowStates } from '../../../contract/delivery.ts';
import type { DenyList } from '../../../contract/deny-list.ts';
import type { FileExportMessage } from '../../../contract/messages.ts';
import { outboxMetadata } from '../../../contract/outbox-key.ts';
import { headerFor } from '../../archive/archived-file.ts';
import type { ArchivedFile, ArchiveKeys, Clock, ObjectHead } from '../../archive/ports.ts';
import { archivedColumns, archivedFile } from '../../catalogue/catalogue.ts';
import { newestEvent } from '../../catalogue/datasets.ts';
import type { DeliveriesQueue, FileExportsQueue } from '../../stores/queues.ts';
import { camelRow, isoTime, optional, snakeCase, timeFormat } from '../../stores/rds/columns.ts';
import type { SqlExecutor } from '../../stores/rds/data-api.ts';
import type { S3Archive } from '../../stores/s3/archive.ts';
import type { Outbox } from '../../stores/s3/outbox.ts';
import { rejection } from '../received.ts';
import { containerKey, hashes, isDenied, isOpenState } from '../requests.ts';

const orderRow = camelRow({
  request_id: z.string(),
  file_id: z.string(),
  state: z.enum(rowStates),
  /** The unfinished upload of an earlier delivery, and a digest of what it is for. */
  upload_id: optional(z.string()),
  upload_for: optional(z.string()),
  /** ISO 8601 with milliseconds: of two requests for one container the newer wins. */
  requested_at: z.string(),
  dataset_id: z.string(),
  recipient: z.string(),
  key_fingerprint: z.string(),
  public_key: z.string().transform((text): Uint8Array => Buffer.from(text, 'base64')),
  depends_on: hashes,
  is_released: z.boolean(),
  submission_file_path: optional(z.string()),
  known_key: optional(z.string()),
});

/** One file of a request, with all that staging it takes: the row of the file, its request, and the file in the catalogue. */
export type Order = z.infer<typeof orderRow> & {
  /** Outbox key of the container; `undefined` when the catalogue no longer has the file. */
  readonly key: string | undefined;
  /** The file while its dataset is released and holds it; otherwise `undefined`. Rejected when it contradicts the catalogue. */
  readonly file: PromiseSettledResult<ArchivedFile | undefined>;
};

/**
 * The orders of some messages, in their order, by one query: rows, request, release and header together, so that a dataset cannot be withdrawn
 * between two queries. `undefined` for a row that is gone, or whose recipient was erased.
 *
 * @param wanted at most ten, so that the answer stays below the Data API's 1 MiB
 */
export async function findOrders(
  db: SqlExecutor,
  wanted: readonly FileExportMessage[],
): Promise<readonly (Order | undefined)[]> {
  const rows = await db.query(
    z.looseObject({}),
    `select cast(x.request_id as text) as request_id, x.file_id, x.state, x.upload_id, x.upload_for, ${isoTime('r.requested_at')} as requested_at, r.dataset_id,
       r.recipient, r.key_fingerprint, r.public_key, cast(r.depends_on as text) as depends_on, x.outbox_key as known_key,
       coalesce((
         select ${newestEvent} = 'released' from sda.file_dataset fd join sda.datasets d on d.id = fd.dataset_id
         where fd.file_id = f.id and d.stable_id = r.dataset_id), false) as is_released, ${archivedColumns}
     from jsonb_to_recordset(cast(:wanted as jsonb)) as w (request_id uuid, file_id text)
     join data_out.request_files x on x.request_id = w.request_id and x.file_id = w.file_id
     join data_out.requests r on r.request_id = x.request_id and r.recipient is not null
     left join sda.files f on f.stable_id = x.file_id`,
    { wanted: { json: wanted.map(({ requestId, fileId }) => snakeCase({ requestId, fileId })) }, ...timeFormat },
  );
  const orders = rows.map(async (columns): Promise<Order> => {
    const row = orderRow.parse(columns);
    const { recipient, fileId, datasetId, submissionFilePath: path } = row;
    const released = row.isReleased ? archivedFile(db, { fileId, datasetId }, columns) : undefined;
    const [file] = await Promise.allSettled([released]);
    const key = containerKey(row.knownKey, recipient, fileId, path);
    return { ...row, key, file };
  });
  const found = await Promise.all(orders);
  return wanted.map((one) => found.find(isSameFile(one)));
}

/** Whether something is about the same file of the same request. */
export const isSameFile = (one: FileExportMessage) => (other: FileExportMessage) =>
  other.requestId === one.requestId && other.fileId === one.fileId;

/** An order that may be carried out now. */
export type DueOrder = Order & { readonly key: string; readonly archived: ArchivedFile };

/** @throws request_rejected when the visa was denied, or the dataset is not released now; damage of the catalogue */
export function dueOrder(order: Order, denied: DenyList): DueOrder {
  const { recipient, dependsOn, file, key } = order;
  if (isDenied(recipient, dependsOn, denied)) {
    throw rejection('visa_denied', 'the visa or its subject was denied while the file waited');
  }
  if (file.status === 'rejected') throw file.reason;
  if (!file.value || key === undefined) {
    throw rejection('not_released', 'the dataset is not released, or no longer holds the file');
  }
  return { ...order, key, archived: file.value };
}

/**
 * Ask again whether an order may be carried out, when minutes may have passed since it was found.
 *
 * @returns `false` when its row has ended
 * @throws as {@link dueOrder}
 */
export async function isStillDue(order: Order, { db, denied }: StageDependencies): Promise<boolean> {
  const [current] = await findOrders(db, [order]);
  if (!current || !isOpenState(current.state)) return false;
  dueOrder(current, await denied());
  return true;
}

export interface StageDependencies {
  readonly db: SqlExecutor;
  readonly archive: Pick<S3Archive, 'head' | 'read' | 'readWhole'>;
  readonly outbox: Pick<Outbox, 'head' | 'put' | 'remove' | 'startUpload' | 'upload'>;
  readonly archiveKeys: ArchiveKeys;
  /** Takes the message of a copy again that needs another invocation. */
  readonly fileExports: FileExportsQueue;
  readonly deliveries: DeliveriesQueue;
  /** The deny list as it is now. */
  readonly denied: () => Promise<DenyList>;
  /** Most files that all invocations together stage at once. */
  readonly filesInFlight: number;
  readonly now: Clock;
  /** Bytes of one copied part, at least S3's 5 MiB. @default 64 MiB */
  readonly copySize?: number;
}

/** The container's header for the recipient, the same at every delivery, and its SHA-256, hex. */
export async function headerOf({ publicKey, archived }: DueOrder, archiveKeys: ArchiveKeys) {
  const header = headerFor(archived, await archiveKeys.candidates(archived.keyHash), publicKey);
  return { header, headerSha256: createHash('sha256').update(header).digest('hex') };
}

/** How a delivery of a message ended. */
export type End =
  | {
      readonly outcome: 'staged';
      readonly bytes: number;
      /** CRC-64/NVME, base64; `undefined` when the archive has none of the body. */
      readonly crc64nvme: string | undefined;
      readonly headerSha256: string;
    }
  /** The recipient's container of this file comes from a newer request. */
  | { readonly outcome: 'superseded'; readonly by: string }
  | { readonly outcome: 'rejected' | 'given_up'; readonly reason: string; readonly detail: string }
  /** The copy made progress, and its message was sent again for the rest. */
  | { readonly outcome: 'continued' }
  /** The row had ended before, or is gone. */
  | { readonly outcome: 'ended' }
  /** The message comes back. */
  | { readonly outcome: 'failed'; readonly error: unknown };

/**
 * What the outbox has under the key of an order, and the end of the order if that is this request's container or a newer one.
 * The archive may have another header by now, so the digest of the written one is in its metadata.
 */
export async function alreadyWritten(
  order: DueOrder,
  { outbox }: StageDependencies,
): Promise<{ readonly present: ObjectHead | undefined; readonly end?: End }> {
  const present = await outbox.head(order.key, { checksum: true });
  const age = present ? compareRequests(present.metadata, order) : -1;
  if (!present || age < 0) return { present };
  if (age > 0) return { present, end: { outcome: 'superseded', by: present.metadata[outboxMetadata.requestId] ?? '' } };
  const headerSha256 = present.metadata[outboxMetadata.headerSha256] ?? '';
  return { present, end: { outcome: 'staged', bytes: present.size, crc64nvme: present.crc64nvme, headerSha256 } };
}

/**
 * Whether the container in the outbox comes from an older (< 0), the same (0) or a newer request (> 0): by the time of the
 * request, then by its id. A container without that metadata counts as older.
 */
function compareRequests(metadata: ObjectHead['metadata'], order: Order): number {
  const requestId = metadata[outboxMetadata.requestId];
  const requestedAt = Date.parse(metadata[outboxMetadata.requestedAt] ?? '');
  if (requestId === order.requestId) return 0;
  if (requestId === undefined || Number.isNaN(requestedAt)) return -1;
  const difference = requestedAt - Date.parse(order.requestedAt);
  if (difference !== 0) return difference;
  return requestId < order.requestId ? -1 : 1;
}
