import * as z from 'zod';
import { hasOpenFiles, isUnsettled } from '../../service/export/requests.ts';
import { count } from '../../service/stores/rds/columns.ts';
import type { SqlExecutor } from '../../service/stores/rds/data-api.ts';

const changedRow = z.object({ changed: count });
const unsettledRow = z.object({ staging: count, settling: count });

/** Rows that one statement changes at most. */
const most = 5000;

/** What the tables have of one person, for its erasure. They know a person by the outbox prefix alone. */
export class RdsErasure {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  /** How many requests for the person are not settled: those that can still stage a file, and those that only await their receipt. */
  async unsettled(recipient: string): Promise<z.infer<typeof unsettledRow>> {
    const [row] = await this.#db.query(
      unsettledRow,
      `select count(*) filter (where u.is_open) as staging, count(*) filter (where not u.is_open) as settling
       from (select ${hasOpenFiles('r.request_id')} as is_open from data_out.requests r
         where r.recipient = :recipient and ${isUnsettled}) u`,
      { recipient },
    );
    return row ?? { staging: 0, settling: 0 };
  }

  /**
   * Take the person, the person's keys, the hashes of the visa and those of the person's containers out of the rows, the keys also out of rows
   * without a recipient. Which request, dataset and file a row is about stays. Then record the erasure, without the person.
   * Doing it again changes nothing.
   * @param erasureId UUID under which the audit trail has the erasure
   * @returns how many rows were changed
   */
  async erase(recipient: string, erasureId: string): Promise<number> {
    let changed = 0;
    for (const statement of statements) {
      for (let rows = most; rows === most; changed += rows) {
        const [row] = await this.#db.query(changedRow, statement, { recipient });
        rows = row?.changed ?? 0;
      }
    }
    await this.#db.execute(
      `insert into data_out.export_log (request_id, event) values (cast(:erasure as uuid), 'erased') on conflict do nothing`,
      { erasure: erasureId },
    );
    return changed;
  }
}

/** The keys of one person, while rows still name that person. */
const keys = `select key_fingerprint from data_out.requests where recipient = :recipient
     union select key_fingerprint from data_out.export_log where recipient = :recipient`;

/** A statement that changes the next of the rows that are found, and says how many it changed. */
const batch = (found: string, change: string) =>
  `with found as materialized (${found} limit ${most}), changed as (${change} returning 1)
   select count(*) as changed from changed`;

/**
 * In an order in which the rest is found again after a failure: rows without a recipient by the keys, and files by their
 * requests, before these are cleared.
 */
const statements = [
  // A request that was rejected before its visa was verified has a key, and no recipient.
  batch(
    `select request_id from data_out.requests where recipient is null and key_fingerprint in (${keys})`,
    `update data_out.requests r set key_fingerprint = null
     from found where r.request_id = found.request_id`,
  ),
  batch(
    `select id from data_out.export_log where recipient is null and key_fingerprint in (${keys})`,
    `update data_out.export_log l set key_fingerprint = null
     from found where l.id = found.id`,
  ),
  batch(
    `select f.request_id, f.file_id from data_out.requests r join data_out.request_files f on f.request_id = r.request_id
     where r.recipient = :recipient and coalesce(f.outbox_key, f.crc64nvme, f.header_sha256, f.upload_id) is not null`,
    `update data_out.request_files f set outbox_key = null, crc64nvme = null, header_sha256 = null, upload_id = null, upload_for = null
     from found where f.request_id = found.request_id and f.file_id = found.file_id`,
  ),
  batch(
    'select request_id from data_out.requests where recipient = :recipient',
    `update data_out.requests r set recipient = null, key_fingerprint = null, public_key = null, depends_on = null
     from found where r.request_id = found.request_id`,
  ),
  batch(
    'select id from data_out.export_log where recipient = :recipient',
    `update data_out.export_log l set recipient = null, key_fingerprint = null, checksum = null
     from found where l.id = found.id`,
  ),
];
