import * as z from 'zod';
import type { SqlExecutor } from '../../service/stores/rds/data-api.ts';

/** A request, or one of its files. */
export interface FailedWork {
  readonly requestId: string;
  /** @default - the request as a whole */
  readonly fileId?: string;
}

/** A failure has a code of some letters, so that this many rows stay far below the 1 MiB of a result. */
const atOnce = 400;

const reasonRow = z.object({ position: z.coerce.number(), reason: z.string().nullable() });

/** Why requests and files failed last, as the database has it. Reads only. */
export class RdsLastFailures {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  /**
   * @returns the reason code of each, in their order. `undefined`: the database has none, as when it was not available itself
   */
  async of(works: readonly FailedWork[]): Promise<readonly (string | undefined)[]> {
    const reasons: (string | undefined)[] = works.map(() => undefined);
    for (let from = 0; from < works.length; from += atOnce) {
      const asked = works.slice(from, from + atOnce).map(({ requestId, fileId = null }, index) => ({
        position: from + index,
        request_id: requestId,
        file_id: fileId,
      }));
      const rows = await this.#db.query(
        reasonRow,
        `select a.position, case when a.file_id is null then r.reason else f.reason end as reason
         from jsonb_to_recordset(cast(:asked as jsonb)) as a (position integer, request_id uuid, file_id text)
         left join data_out.requests r on r.request_id = a.request_id
         left join data_out.request_files f on f.request_id = a.request_id and f.file_id = a.file_id`,
        { asked: { json: asked } },
      );
      for (const { position, reason } of rows) if (reason !== null) reasons[position] = reason;
    }
    return reasons;
  }
}
