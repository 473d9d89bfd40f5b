import * as z from 'zod';
import { smokeIdPrefix } from '../../contract/messages.ts';
import type { SqlExecutor } from '../../service/stores/rds/data-api.ts';

const named = z.object({ name: z.string() });

/** Begins the names of the users that a smoke test makes. */
export const smokeUserPrefix = 'smoke-';

/** What smoke tests leave in the database. Every method keeps to their ids, and may be repeated. */
export class RdsSmokeRows {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  /** Datasets of smoke tests that began so many seconds ago or earlier, by the clock of the database. */
  datasets(olderThanSeconds: number): Promise<readonly string[]> {
    return this.#names(
      `select dataset_id as name from (
         select stable_id as dataset_id, created_at as since from sda.datasets
         union all
         select dataset_id, requested_at from data_out.requests) known
       where starts_with(dataset_id, :prefix)
       group by dataset_id
       having max(since) <= now() - make_interval(secs => cast(:seconds as integer))
       order by dataset_id limit 500`,
      { prefix: smokeIdPrefix, seconds: olderThanSeconds },
    );
  }

  /** Whether the request was consumed, and each of its files is settled. */
  async isSettled(requestId: string): Promise<boolean> {
    const [state] = await this.#names(
      'select state as name from data_out.requests where request_id = cast(:request_id as uuid)',
      { request_id: requestId },
    );
    return state !== undefined && state !== 'accepted';
  }

  /** Outbox prefixes to which smoke tests staged within the last seven days, as the audit trail has them. */
  recentRecipients(): Promise<readonly string[]> {
    return this.#names(
      `select distinct recipient as name from data_out.export_log
       where starts_with(dataset_id, :prefix) and recipient is not null and recorded_at > now() - interval '7 days'
       limit 500`,
      { prefix: smokeIdPrefix },
    );
  }

  /** Outbox prefixes of those who exported a dataset. */
  recipients(datasetId: string): Promise<readonly string[]> {
    return this.#names(
      `select distinct recipient as name from data_out.requests
       where dataset_id = :dataset_id and starts_with(dataset_id, :prefix) and recipient is not null`,
      { dataset_id: datasetId, prefix: smokeIdPrefix },
    );
  }

  /** Delete a dataset, its events, and the state of its requests. Its files are gone already. The audit trail stays. */
  async remove(datasetId: string): Promise<void> {
    await this.#db.execute(
      `with gone as (
         select request_id from data_out.requests where dataset_id = :dataset_id and starts_with(dataset_id, :prefix)
       ), files as (
         delete from data_out.request_files where request_id in (select request_id from gone)
       ), requests as (
         delete from data_out.requests where request_id in (select request_id from gone)
       )
       delete from sda.dataset_event_log where dataset_id = :dataset_id and starts_with(dataset_id, :prefix)`,
      { dataset_id: datasetId, prefix: smokeIdPrefix },
    );
    // A separate statement: a foreign key is checked at the end of each.
    await this.#db.execute(
      'delete from sda.datasets where stable_id = :dataset_id and starts_with(stable_id, :prefix)',
      { dataset_id: datasetId, prefix: smokeIdPrefix },
    );
  }

  /** Users of the central archive that smoke tests made so many seconds ago or earlier. */
  users(olderThanSeconds: number): Promise<readonly string[]> {
    return this.#names(
      `select username as name from data_out.archive_users
       where starts_with(username, :prefix) and created_at <= now() - make_interval(secs => cast(:seconds as integer))
       order by username limit 500`,
      { prefix: smokeUserPrefix, seconds: olderThanSeconds },
    );
  }

  async removeUser(username: string): Promise<void> {
    await this.#db.execute(
      'delete from data_out.archive_users where username = :username and starts_with(username, :prefix)',
      { username, prefix: smokeUserPrefix },
    );
  }

  async #names(statement: string, parameters: Readonly<Record<string, string | number>>): Promise<readonly string[]> {
    return (await this.#db.query(named, statement, parameters)).map(({ name }) => name);
  }
}
