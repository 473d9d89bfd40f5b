import * as z from 'zod';
import type { GiveUpReason } from '../../../export/settling.ts';
import type { BrokenFanOut, Sweep } from '../../../export/sweep.ts';
import { count, isoTime, pageSize, timeFormat } from '../columns.ts';
import type { SqlExecutor } from '../data-api.ts';
import { hasOpenFiles, isOpen } from './open-files.ts';
import { requestRow } from './request-files.ts';

/** Most requests of one statement. Their rows stay below the 1 MiB of a result of the Data API. */
const mostRequests = 500;

const brokenRow = requestRow.extend({
  requested_at: z.string(),
  archive_kind: z.string().nullable(),
  dataset_id: z.string().nullable(),
  file_id: z.string().nullable(),
  recipient: z.string().nullable(),
  key_fingerprint: z.string().nullable(),
  sent_to: z.string(),
  files: count,
  reason: z.string().nullable(),
});

/** A request of which something is still to be done, in the words of the partial index `requests_unsettled`. */
const isUnsettled = "r.state <> 'rejected' and r.settled_generation < r.generation";

/** When a sealed request changed, or was sent on again: its fan-out is over, so that `tried_at` is free for that. */
const lastSign = 'greatest(r.updated_at, r.tried_at)';

/** The tables of requests and their files, as the sweep goes through them. */
export class RdsSweep implements Sweep {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  giveUpSilent(triedBefore: Date): Promise<number> {
    return this.#giveUp(
      'no_answer',
      `select f.request_id, f.file_id from data_out.request_files f
       where ${isOpen('f')} and f.is_last_try and f.tried_at < cast(:before as timestamptz)
       limit ${pageSize} for update of f skip locked`,
      triedBefore,
    );
  }

  giveUpExpired(before: Date): Promise<number> {
    return this.#giveUp(
      'expired',
      `select f.request_id, f.file_id
       from data_out.requests r join data_out.request_files f on f.request_id = r.request_id
       where ${isUnsettled} and r.updated_at < cast(:before as timestamptz)
         and ${isOpen('f')} and f.updated_at < cast(:before as timestamptz)
       limit ${pageSize} for update of f skip locked`,
      before,
    );
  }

  /** @param lost query of the files */
  async #giveUp(reason: GiveUpReason, lost: string, before: Date): Promise<number> {
    const [row] = await this.#db.query(
      z.object({ files: count }),
      `with lost as materialized (
         ${lost}
       ), given_up as (
         update data_out.request_files f set state = 'given_up', reason = :reason, is_last_try = false, updated_at = now()
         from lost l where f.request_id = l.request_id and f.file_id = l.file_id
         returning f.request_id, f.file_id
       ), audited as (
         insert into data_out.export_log
           (request_id, event, reason, archive_kind, dataset_id, file_id, recipient, key_fingerprint)
         select g.request_id, 'given_up', cast(:reason as text), r.archive_kind, r.dataset_id, g.file_id, r.recipient,
           r.key_fingerprint
         from given_up g join data_out.requests r on r.request_id = g.request_id
         order by g.request_id, g.file_id
         on conflict (request_id, event, (coalesce(file_id, ''))) do nothing
       )
       select count(*) as files from given_up`,
      { reason, before: before.toISOString() },
    );
    return row?.files ?? 0;
  }

  async brokenFanOuts(triedBefore: Date, expiredBefore: Date): Promise<readonly BrokenFanOut[]> {
    const rows = await this.#db.query(
      brokenRow,
      `select cast(r.request_id as text) as request_id,
         ${isoTime('r.requested_at')} as requested_at,
         r.archive_kind, r.dataset_id, r.file_id, r.recipient, r.key_fingerprint, r.sent_to, r.files, r.reason
       from data_out.requests r
       where ${isUnsettled} and r.sealed_at is null and (
         r.state = 'failed' or r.is_last_try and r.tried_at < cast(:tried_before as timestamptz)
         or r.updated_at < cast(:expired_before as timestamptz))
       order by r.updated_at
       limit ${mostRequests}`,
      {
        ...timeFormat,
        tried_before: triedBefore.toISOString(),
        expired_before: expiredBefore.toISOString(),
      },
    );
    return rows.map((row) => ({
      request: {
        requestId: row.request_id,
        requestedAt: new Date(row.requested_at),
        ...(row.archive_kind !== null && { archiveKind: row.archive_kind }),
        ...(row.dataset_id !== null && { datasetId: row.dataset_id }),
        ...(row.file_id !== null && { fileId: row.file_id }),
        ...(row.recipient !== null && { recipient: row.recipient }),
        ...(row.key_fingerprint !== null && { keyFingerprint: row.key_fingerprint }),
      },
      progress: { sentTo: row.sent_to, files: row.files },
      ...(row.reason !== null && { reason: row.reason }),
    }));
  }

  /** Whether a request waits for its receipt. One whose recipient was erased never gets one. */
  async hasUnsettled(): Promise<boolean> {
    const [row] = await this.#db.query(
      z.object({ found: z.boolean() }),
      `select exists (
         select from data_out.requests r where ${isUnsettled} and r.recipient is not null) as found`,
    );
    return row?.found ?? false;
  }

  async unclosed(quietSince: Date): Promise<readonly string[]> {
    const rows = await this.#db.query(
      requestRow,
      `with unclosed as materialized (
         select r.request_id from data_out.requests r
         where ${isUnsettled} and r.sealed_at is not null and r.recipient is not null and ${lastSign} < cast(:quiet_since as timestamptz)
           and now() - ${lastSign} >= ${lastSign} - r.updated_at
           and not ${hasOpenFiles('r.request_id')}
         order by r.updated_at
         limit ${mostRequests}
       )
       update data_out.requests r set tried_at = now()
       from unclosed u where r.request_id = u.request_id
       returning cast(r.request_id as text) as request_id`,
      { quiet_since: quietSince.toISOString() },
    );
    return rows.map((row) => row.request_id);
  }
}
