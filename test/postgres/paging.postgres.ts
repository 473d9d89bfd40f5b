import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { isError } from '../../lib/errors.ts';
import { RdsAuditTrail } from '../../lib/ops/audit/trail.ts';
import { RdsArchiveHeaders } from '../../lib/ops/catalogue/headers.ts';
import { RdsArchiveInventory } from '../../lib/ops/catalogue/inventory.ts';
import { directCatalogue } from '../../lib/service/catalogue/direct-catalogue.ts';
import { exportCatalogue } from '../../lib/service/catalogue/export-catalogue.ts';
import { noteAttempts, outboxRecords, receiptRecords } from '../../lib/service/ledger/ledger.ts';
import { fitsQuota } from '../../lib/service/ledger/outbox-contents.ts';
import type { DataApi, SqlExecutor } from '../../lib/service/stores/rds/data-api.ts';
import { migrate } from '../../lib/service/stores/rds/migrate.ts';
import { TestDatabase } from '../helpers/data-api.ts';
import { ServerDatabase } from '../helpers/postgres-database.ts';
import { type PostgresServer, startPipelinePostgres } from '../helpers/postgres-server.ts';
import { readMigrations } from '../helpers/read-migrations.ts';
import { wholeLedger } from '../helpers/whole-ledger.ts';

/**
 * Every statement that pages, over a dataset of a million files: PostgreSQL says how many rows and blocks it read. A statement
 * that is not bounded by its page reads a thousand times as much.
 */
const most = 1_000_000;
const page = 1000;
const owner = { username: 'data_out', password: 'the password of the owner' };
const requestId = '7d4cbd3e-6f3e-4df5-9d9a-1c9b6e9d0e3c';
const recipient = 'ab'.repeat(32);

const rows = [
  // The rows come before their indexes, as in a bulk load.
  `alter table sda.files drop constraint unique_ingested, drop constraint files_pkey cascade,
     drop constraint files_stable_id_key`,
  'alter table sda.file_dataset drop constraint unique_file_dataset',
  "insert into sda.datasets (stable_id) select 'EGAD' || n from generate_series(1, 3) n",
  "insert into sda.dataset_event_log (dataset_id, event) select stable_id, 'released' from sda.datasets",
  `insert into sda.files (stable_id, submission_user, submission_file_path, archive_file_path, archive_file_size, header, key_hash)
   select 'EGAF' || lpad(cast(n as text), 11, '0'), 'u', 'u/' || n || '.bam', 'b' || n, 1, '00', null
   from generate_series(1, ${most}) n`,
  'insert into sda.file_dataset (file_id, dataset_id) select id, 1 from sda.files',
  "insert into sda.file_dataset (file_id, dataset_id) select id, 2 from sda.files where stable_id < 'EGAF00000500000'",
  "insert into sda.file_dataset (file_id, dataset_id) select id, 3 from sda.files where stable_id > 'EGAF00000999900'",
  'alter table sda.files add primary key (id), add unique (stable_id)',
  'alter table sda.file_dataset add unique (file_id, dataset_id)',
];
const requestRows = [
  `insert into data_out.requests (request_id, requested_at, archive_kind, kind, dataset_id, recipient, key_fingerprint, state, sealed_at)
   values ('${requestId}', now(), 'fega', 'dataset', 'EGAD1', '${recipient}', 'k1', 'accepted', now())`,
  'alter table data_out.request_files drop constraint request_files_pkey',
  'drop index data_out.request_files_in_outbox, data_out.export_log_once, data_out.export_log_of_file, data_out.export_log_of_dataset, data_out.export_log_of_recipient',
  `insert into data_out.request_files (request_id, file_id, state, outbox_key, bytes, header_sha256)
   select '${requestId}', stable_id, 'staged', '${recipient}/' || stable_id || '.c4gh', 2, 'd1' from sda.files`,
  `insert into data_out.export_log (request_id, event, archive_kind, dataset_id, file_id, recipient)
   select '${requestId}', 'staged', 'fega', 'EGAD1', stable_id, '${recipient}' from sda.files`,
  'alter table data_out.request_files add primary key (request_id, file_id)',
  "create index request_files_in_outbox on data_out.request_files (outbox_key) where state in ('staged', 'superseded')",
  "create unique index export_log_once on data_out.export_log (request_id, event, coalesce(file_id, ''))",
  'create index export_log_of_file on data_out.export_log (file_id, id desc)',
  'create index export_log_of_dataset on data_out.export_log (dataset_id, id desc)',
  'create index export_log_of_recipient on data_out.export_log (recipient, id desc)',
];

let server: PostgresServer;
let database: TestDatabase;
beforeAll(async () => {
  server = await startPipelinePostgres(owner);
  database = new TestDatabase(new ServerDatabase({ host: server.host, database: 'sda', owner }));
  // Foreign keys cost most of a load.
  const run = (sql: string) => server.admin(`set session_replication_role = replica; ${sql}`, 'sda');
  for (const sql of rows) await run(`set role ${owner.username}; ${sql}`);
  await migrate(database.dataApi(), readMigrations());
  for (const sql of requestRows) await run(sql);
  await server.admin('vacuum analyze', 'sda');
}, 180_000);
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await server?.stop();
});

type Given = NonNullable<Parameters<SqlExecutor['query']>[2]>;

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Loops': number;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}

/** Explains the first statement, which runs it, and ends there. */
class Explained implements SqlExecutor {
  plan: PlanNode | undefined;
  readonly #db: DataApi = database.dataApi();
  readonly #instead: Given;

  /** @param instead parameters that replace those of each statement: another position */
  constructor(instead: Given) {
    this.#instead = instead;
  }

  async query<T>(_row: z.ZodType<T>, sql: string, parameters: Given = {}): Promise<T[]> {
    const unknown = Object.keys(this.#instead).filter((name) => !(name in parameters));
    if (!this.plan && unknown.length > 0) throw new Error(`the statement has no parameter ${unknown}`);
    const [text] = await this.#db.query(
      z.object({ 'QUERY PLAN': z.string() }),
      `explain (analyze, buffers, format json) ${sql}`,
      { ...parameters, ...this.#instead },
    );
    const [{ Plan }] = JSON.parse(text?.['QUERY PLAN'] ?? '') as [{ Plan: PlanNode }];
    this.plan ??= Plan;
    return [];
  }

  async execute(sql: string, parameters: Given = {}): Promise<void> {
    await this.query(z.unknown(), sql, parameters);
  }
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

const largeTables = new Set(['files', 'file_dataset', 'request_files', 'export_log']);

/** Most rows that one step of a plan read of a large table, and the blocks that all its steps read. */
function readBy(plan: PlanNode): { rows: number; blocks: number } {
  const rows = nodesOf(plan)
    .filter((node) => largeTables.has(node['Relation Name'] ?? ''))
    .map((node) => {
      const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
      return (node['Actual Rows'] + removed) * node['Actual Loops'];
    });
  return { rows: Math.max(0, ...rows), blocks: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'] };
}

const first = async (pages: AsyncIterable<unknown>) => {
  for await (const _ of pages) return;
};

interface Paging {
  /** Runs the statement for a first page. */
  readonly run: (db: DataApi) => Promise<unknown>;
  /** Parameters that put it before the last page. @default - its first statement takes no position */
  readonly last?: () => Promise<Given>;
}

const one = async (sql: string) => (await database.sql(sql))[0]?.[0] ?? '';
/** The row id of a file, and its stable id, behind which a page is left. */
const rowIdBeforeLast = () => one(`select cast(id as text) from sda.files order by id desc limit 1 offset ${page}`);
const fileBeforeLast = () => one(`select stable_id from sda.files order by stable_id desc limit 1 offset ${page}`);
const closing = { state: 'given_up', reason: 'not_sent' } as const;
const start = { sentTo: '', files: 0 };
const records = (db: DataApi) => outboxRecords(db, 30);

const statements: Readonly<Record<string, Paging>> = {
  'files to export': {
    run: (db) => first(exportCatalogue(db, noteAttempts).exportableFiles('EGAD1', '')),
    last: async () => ({ after: await rowIdBeforeLast() }),
  },
  'files that an export did not send': {
    run: async (db) => {
      await database.sql('update data_out.requests set closed_to = null');
      await wholeLedger(db, 10).closeUnsent(requestId, start, closing);
    },
    last: async () => ({ sent_to: await rowIdBeforeLast() }),
  },
  'files of a dataset, for direct access': {
    run: (db) => first(directCatalogue(db).filesOfDataset('EGAD1')),
    last: async () => ({ after: { uuid: await rowIdBeforeLast() } }),
  },
  'files of a dataset, for the operator': {
    run: (db) => first(new RdsArchiveInventory(db).files('EGAD1')),
    last: async () => ({ after: await rowIdBeforeLast() }),
  },
  'all files, for the operator': {
    run: (db) => first(new RdsArchiveInventory(db).files()),
    last: async () => ({ after: await fileBeforeLast() }),
  },
  'stored headers': {
    run: (db) => first(new RdsArchiveHeaders(db).stored()),
    last: async () => ({ after: await rowIdBeforeLast() }),
  },
  'stored headers, most of them for another key': {
    run: (db) => first(new RdsArchiveHeaders(db).stored([''])),
    last: async () => ({ after: await rowIdBeforeLast() }),
  },
  'files of a receipt': {
    run: (db) => first(receiptRecords(db).files(requestId)),
    last: async () => ({ after: await fileBeforeLast() }),
  },
  'containers of a dataset': {
    run: (db) => first(records(db).containers({ datasetId: 'EGAD1' }, { withdrawn: true })),
    last: async () => ({ after_request: { uuid: requestId }, after_file: await fileBeforeLast() }),
  },
  'containers of a recipient': {
    run: (db) => first(records(db).containers({ recipient })),
    last: async () => ({ after_request: { uuid: requestId }, after_file: await fileBeforeLast() }),
  },
  'containers of a request': {
    run: (db) => first(records(db).containers({ requestId })),
    last: async () => ({ after_request: { uuid: requestId }, after_file: await fileBeforeLast() }),
  },
  'the audit trail': { run: (db) => first(new RdsAuditTrail(db).newest({}, page)) },
  'the audit trail of a request': {
    run: (db) => first(new RdsAuditTrail(db).newest({ requestId }, page)),
  },
  'the audit trail of a dataset': {
    run: (db) => first(new RdsAuditTrail(db).newest({ datasetId: 'EGAD1' }, page)),
  },
  'the audit trail of a recipient': {
    run: (db) => first(new RdsAuditTrail(db).newest({ recipient }, page)),
  },
};

describe.each([3, 1001])('of %i datasets', (datasets) => {
  beforeAll(async () => {
    if (datasets === 3) return;
    await server.admin(
      `insert into sda.datasets (stable_id) select 'EGAD' || n from generate_series(4, ${datasets}) n;
       insert into sda.file_dataset (file_id, dataset_id)
       select f.id, d.id from sda.datasets d
       join sda.files f on f.stable_id between 'EGAF' || lpad(cast(500000 + d.id * 100 as text), 11, '0')
         and 'EGAF' || lpad(cast(500099 + d.id * 100 as text), 11, '0')
       where d.id > 3;
       analyze`,
      'sda',
    );
  });

  const ends = ['first', 'last'] as const;
  it.each(
    Object.entries(statements).flatMap(([name, { last }]) =>
      ends.slice(0, last ? 2 : 1).map((end) => [name, end] as const),
    ),
  )('reads at most twice the page: %s, the %s page', async (name, end) => {
    const { run, last } = statements[name] as Paging;
    const db = new Explained(end === 'last' && last ? await last() : {});
    await run(db as unknown as DataApi).catch((error: unknown) => {
      // The listing of direct access takes no rows for a dataset that is not released.
      if (!isError(error, 'forbidden')) throw error;
    });
    if (!db.plan) throw new Error('no statement');
    const read = readBy(db.plan);
    expect(read.rows).toBeLessThanOrEqual(2 * page);
    expect(read.blocks).toBeLessThan(30 * page);
  });
});

it.each(['containers of a dataset', 'containers of a recipient', 'containers of a request'])(
  'reads no file of a request that was closed before the expiry: %s',
  async (name) => {
    await database.sql("update data_out.requests set settled_generation = 1, updated_at = now() - interval '33 days'");
    const db = new Explained({});
    await (statements[name] as Paging).run(db as unknown as DataApi);
    await database.sql('update data_out.requests set settled_generation = 0, updated_at = now()');
    expect(db.plan && readBy(db.plan).rows).toBe(0);
  },
);

it('reads no dataset for the quota of an export of one file', async () => {
  const db = new Explained({});
  await fitsQuota(
    db,
    { recipient: 'cd'.repeat(32), datasetId: 'EGAD1', fileId: 'EGAF00000000007' },
    { gib: 1, expiryDays: 30 },
  );
  expect(db.plan && readBy(db.plan).rows).toBe(1);
});
