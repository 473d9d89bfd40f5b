import { createHash } from 'node:crypto';
import * as z from 'zod';
import { isSqlError } from '../aws-failure.ts';
import type { DataApi, SqlExecutor } from './data-api.ts';

/** One migration: an SQL file named `NNNN-name.sql`. */
export interface Migration {
  /** From the file's name; migrations run in this order. */
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
  readonly statements: readonly string[];
}

/** A deployed migration was changed, renumbered or lost: correct the files, and write a new migration instead. */
export class MigrationConflictError extends Error {
  override get name(): string {
    return 'MigrationConflictError';
  }
}

/** A migration from a file's name and text. @throws RangeError when the name is not `NNNN-name.sql`. */
export function migration(fileName: string, text: string): Migration {
  const [, version, name] = /^(\d{4})-([a-z0-9-]+)\.sql$/.exec(fileName) ?? [];
  if (!version || !name) throw new RangeError(`expected a migration named NNNN-name.sql, got ${fileName}`);
  // Line ends differ between checkouts, and must not change the checksum.
  const normal = text.replaceAll('\r\n', '\n');
  return {
    version: Number(version),
    name,
    checksum: createHash('sha256').update(normal).digest('hex'),
    statements: normal
      .split(/^-- statement(?::.*)?$/m)
      .slice(1)
      .map((statement) => statement.trim().replace(/;$/, '')),
  };
}

const appliedRow = z.object({ version: z.number(), name: z.string(), checksum: z.string() });

/**
 * Takes the advisory lock that one run of the migrations holds, until the end of the transaction. The key is any
 * constant that nothing else in the database uses. `is not null` makes a boolean of its void result, which the Data API
 * cannot return.
 */
export const takeMigrationLock = 'select pg_advisory_xact_lock(727202611) is not null';

/**
 * Bring the database up to date, in one transaction: all pending migrations or none. Two runs at once are safe: the
 * second waits for the first, and finds nothing to do. Indexes on tables that exist already are made before the transaction,
 * and stay when it fails.
 *
 * @returns the names of the migrations that this run applied.
 * @throws MigrationConflictError when the recorded history is not the beginning of `migrations`.
 */
export async function migrate(db: DataApi, migrations: readonly Migration[]): Promise<string[]> {
  await makeIndexes(db, migrations);
  return await db.transaction(async (transaction) => {
    await transaction.execute(takeMigrationLock);
    await transaction.execute('create schema if not exists data_out');
    await transaction.execute(
      `create table if not exists data_out.schema_migrations (
         version integer primary key,
         name text not null,
         checksum text not null,
         applied_at timestamptz not null default now()
       )`,
    );
    const pending = afterHistory(migrations, await historyOf(transaction));
    for (const one of pending) await apply(transaction, one);
    return pending.map((one) => one.name);
  });
}

function historyOf(db: SqlExecutor): Promise<z.infer<typeof appliedRow>[]> {
  return db.query(appliedRow, 'select version, name, checksum from data_out.schema_migrations order by version');
}

const foundRow = z.object({ found: z.boolean() });

async function exists(db: SqlExecutor, name: string): Promise<boolean> {
  const [row] = await db.query(foundRow, 'select to_regclass(:name) is not null as found', { name });
  return row?.found ?? false;
}

/**
 * Make the pending indexes on tables that exist. With millions of rows this can take longer than a call, and only outside a
 * transaction can a statement continue after its call. In the transaction, `if not exists` then finds the index.
 */
async function makeIndexes(db: DataApi, migrations: readonly Migration[]): Promise<void> {
  const applied = (await exists(db, 'data_out.schema_migrations')) ? await historyOf(db) : [];
  for (const statement of afterHistory(migrations, applied).flatMap(({ statements }) => statements)) {
    const [, index, schema, table] =
      /^create (?:unique )?index if not exists (\w+)\s+on (\w+)\.(\w+)/.exec(statement) ?? [];
    if (!index || !(await exists(db, `${schema}.${table}`))) continue;
    try {
      await db.makeIndex(statement, () => exists(db, `${schema}.${index}`));
    } catch (error) {
      // The same migrations add the column.
      if (!isSqlError(error, 'undefinedColumn')) throw error;
    }
  }
}

async function apply(transaction: SqlExecutor, one: Migration): Promise<void> {
  for (const statement of one.statements) await transaction.execute(statement);
  await transaction.execute(
    'insert into data_out.schema_migrations (version, name, checksum) values (:version, :name, :checksum)',
    { version: one.version, name: one.name, checksum: one.checksum },
  );
}

function afterHistory(migrations: readonly Migration[], applied: readonly z.infer<typeof appliedRow>[]): Migration[] {
  for (const [index, done] of applied.entries()) {
    const known = migrations[index];
    if (known?.version !== done.version || known.checksum !== done.checksum) {
      throw new MigrationConflictError(
        `migration ${done.version} (${done.name}) was applied, and its file is missing or different now: restore the file, and add a new migration`,
      );
    }
  }
  return migrations.slice(applied.length);
}

/** Set how many days the database keeps rows about requests, as the owner of the tables. @param days `undefined`: for good */
export async function keepRows(db: SqlExecutor, days: number | undefined): Promise<void> {
  if (days === undefined) {
    await db.execute('delete from data_out.retention');
    return;
  }
  await db.execute(
    `insert into data_out.retention (days) values (cast(:days as integer))
     on conflict (only_row) do update set days = excluded.days`,
    { days },
  );
}
