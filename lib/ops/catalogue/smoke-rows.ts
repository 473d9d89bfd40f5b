import * as z from 'zod';
import { smokeIdPrefix } from '../../contract/messages.ts';
import type { SqlExecutor } from '../../service/stores/rds/data-api.ts';

const named = z.object({ name: z.string() });

/** The names of the users that smoke tests make, for JavaScript and PostgreSQL alike. Nobody's own name is taken for one. */
export const smokeUserPattern = '^smoke-\\d{8}t\\d{6}z-[0-9a-f]{8}(-other)?$';

/** What smoke tests leave in the database. Every method keeps to their ids, and may be repeated. */
export function smokeRows(db: SqlExecutor) {
  const names = async (statement: string, parameters: Readonly<Record<string, string>>): Promise<readonly string[]> =>
    (await db.query(named, statement, parameters)).map(({ name }) => name);
  return {
    /** Datasets of smoke tests. */
    datasets(): Promise<readonly string[]> {
      return names(
        `select stable_id as name from sda.datasets where starts_with(stable_id, :prefix)
       union select dataset_id from data_out.requests where starts_with(dataset_id, :prefix)
       order by name limit 500`,
        { prefix: smokeIdPrefix },
      );
    },

    /** Whether requests of smoke tests are not settled, or this one was not consumed. @param requestId may be empty */
    async areUnderWay(requestId: string): Promise<boolean> {
      const found = await names(
        `select 'x' as name where
         exists (select from data_out.requests where starts_with(dataset_id, :prefix) and state = 'accepted')
         or :request_id <> ''
           and not exists (select from data_out.requests where cast(request_id as text) = :request_id)`,
        { prefix: smokeIdPrefix, request_id: requestId },
      );
      return found.length > 0;
    },

    /** Outbox prefixes to which smoke tests staged, as the requests and seven days of the audit trail have them. */
    recipients(): Promise<readonly string[]> {
      return names(
        `select recipient as name from data_out.requests
       where starts_with(dataset_id, :prefix) and recipient is not null
       union select recipient from data_out.export_log
       where starts_with(dataset_id, :prefix) and recipient is not null and recorded_at > now() - interval '7 days'
       limit 500`,
        { prefix: smokeIdPrefix },
      );
    },

    /** Delete a dataset, its events, and the state of its requests. Its files are gone already. The audit trail stays. */
    async remove(datasetId: string): Promise<void> {
      await db.execute(
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
      await db.execute('delete from sda.datasets where stable_id = :dataset_id and starts_with(stable_id, :prefix)', {
        dataset_id: datasetId,
        prefix: smokeIdPrefix,
      });
    },

    /** Delete the users of the central archive that smoke tests made. @returns their names */
    removeUsers(): Promise<readonly string[]> {
      return names('delete from data_out.archive_users where username ~ :pattern returning username as name', {
        pattern: smokeUserPattern,
      });
    },
  };
}
