import * as z from 'zod';
import type { FanOutProgress, FanOuts } from '../../export/ports.ts';
import { count } from './columns.ts';
import type { SqlExecutor } from './data-api.ts';

const progressRow = z.object({ sent_to: z.string(), files: count });

/** The table `data_out.fan_outs`: one row for each request of a dataset. */
export class RdsFanOuts implements FanOuts {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  async progressOf(requestId: string, datasetId: string): Promise<FanOutProgress | undefined> {
    const [row] = await this.#db.query(
      progressRow,
      'select sent_to, files from data_out.fan_outs where request_id = :request and dataset_id = :dataset',
      { request: { uuid: requestId }, dataset: datasetId },
    );
    return row && { sentTo: row.sent_to, files: row.files };
  }

  async save(requestId: string, datasetId: string, { sentTo, files }: FanOutProgress): Promise<void> {
    await this.#db.execute(
      `insert into data_out.fan_outs as f (request_id, dataset_id, sent_to, files)
       values (cast(:request as uuid), :dataset, :sent_to, :files)
       on conflict (request_id, dataset_id) do update set sent_to = excluded.sent_to, files = excluded.files
       where f.sent_to < excluded.sent_to`,
      { request: { uuid: requestId }, dataset: datasetId, sent_to: sentTo, files },
    );
  }
}
