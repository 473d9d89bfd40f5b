import * as z from 'zod';
import { camelRow, count, isoTime, timeFormat } from '../../service/stores/rds/columns.ts';
import type { SqlExecutor } from '../../service/stores/rds/data-api.ts';

/**
 * Which rows; all conditions together. `recipient` is an outbox prefix, which a request that was rejected before its visa was
 * verified does not have. @default - all
 */
export type AuditFilter = {
  readonly [Name in 'requestId' | 'datasetId' | 'fileId' | 'recipient']?: string | undefined;
};

/** Rows of a page: each is below 2 KiB, so that a page stays below the 1 MiB of a result. */
const pageSize = 400;

const text = z.string().nullable();
const auditRow = camelRow({
  /** Position in the trail: a later row has a greater one. */
  id: count,
  request_id: z.string(),
  event: z.string(),
  /** Code of a rejection. */
  reason: text,
  archive_kind: text,
  dataset_id: text,
  file_id: text,
  /** Outbox prefix. */
  recipient: text,
  /** Fingerprint of the recipient's public key. */
  key_fingerprint: text,
  /** Container size, for `staged`. */
  bytes: count.nullable(),
  /**
   * For `staged`: `crc64nvme:` and the base64 of the CRC that S3 found as expected, or `none`: the archive has no checksum of the
   * body. Also `null` in rows of earlier versions.
   */
  checksum: text,
  /** ISO 8601, UTC. */
  recorded_at: z.string(),
});

/** One row of `data_out.export_log`, as an operator reads it. */
export type AuditRow = z.infer<typeof auditRow>;

/** The audit trail, newest first. */
export class RdsAuditTrail {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  /** At most `limit` rows, page after page. */
  async *newest({ requestId, datasetId, fileId, recipient }: AuditFilter, limit: number): AsyncGenerator<AuditRow> {
    let before: number | undefined;
    for (let left = limit; left > 0; ) {
      const given = [
        // The parameter is cast, not the column: the index has UUIDs.
        ['request_id', requestId, 'request_id = cast(:request_id as uuid)'],
        ['dataset_id', datasetId, 'dataset_id = :dataset_id'],
        ['file_id', fileId, 'file_id = :file_id'],
        ['recipient', recipient, 'recipient = :recipient'],
        ['before', before, 'id < cast(:before as bigint)'],
      ] as const;
      const conditions = given.filter(([, value]) => value !== undefined);
      const page: readonly AuditRow[] = await this.#db.query(
        auditRow,
        `select id, cast(request_id as text) as request_id, event, reason, archive_kind, dataset_id, file_id, recipient,
           key_fingerprint, bytes, checksum, ${isoTime('recorded_at')} as recorded_at
         from data_out.export_log
         where ${['true', ...conditions.map(([, , condition]) => condition)].join(' and ')}
         order by id desc
         limit ${Math.min(left, pageSize)}`,
        { ...timeFormat, ...Object.fromEntries(conditions.map(([name, value]) => [name, value ?? null])) },
      );
      yield* page;
      const last = page.at(-1);
      if (!last || page.length < pageSize) return;
      before = last.id;
      left -= page.length;
    }
  }
}
