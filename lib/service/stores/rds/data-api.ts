import {
  BeginTransactionCommand,
  type ColumnMetadata,
  CommitTransactionCommand,
  ExecuteStatementCommand,
  type ExecuteStatementCommandInput,
  type Field,
  type RDSDataClient,
  RollbackTransactionCommand,
  type SqlParameter,
} from '@aws-sdk/client-rds-data';
import type * as z from 'zod';
import { errorName, isSqlError, isTransient, isTransientSqlState } from '../aws-failure.ts';
import { type RetryEnvironment, retrying } from '../retry.ts';

export interface DataApiOptions extends RetryEnvironment {
  readonly client: RDSDataClient;
  readonly clusterArn: string;
  /** Secret with the database user's name and password. */
  readonly secretArn: string;
  readonly database: string;
  /**
   * Milliseconds that a call may take, retries included; asked at the start of every call. A function gives what its
   * invocation has left, minus the time it needs to answer. @default 40 s, enough for a paused cluster to resume
   */
  readonly remainingMs?: () => number;
}

export type SqlParameters = Readonly<Record<string, SqlValue>>;

/** Where statements go: the database, or one transaction of it. */
export interface SqlExecutor {
  /** Run one statement; its rows, in the shape `row` has. @throws ZodError when a row has another shape. */
  query<T>(row: z.ZodType<T>, sql: string, parameters?: SqlParameters): Promise<T[]>;
  execute(sql: string, parameters?: SqlParameters): Promise<void>;
}

const isRetryable = (error: unknown): boolean => isTransient(error) || isTransientSqlState(error);

/**
 * One database behind the RDS Data API.
 *
 * A resuming cluster, throttling, 5xx and lost answers are retried within the given time, then
 * `temporarily_unavailable`. A write may have happened although its answer was lost, so every write must be
 * repeatable (`ON CONFLICT`). Results are at most 1 MiB: callers page by key. One statement a call.
 */
export class DataApi implements SqlExecutor {
  readonly #options: DataApiOptions;

  constructor(options: DataApiOptions) {
    this.#options = options;
  }

  query<T>(row: z.ZodType<T>, sql: string, parameters: SqlParameters = {}): Promise<T[]> {
    return this.#retrying(async (remainingMs) => {
      const rows = await this.#send(sql, parameters, abortAfter(remainingMs));
      return rows.map((value) => row.parse(value));
    });
  }

  async execute(sql: string, parameters: SqlParameters = {}): Promise<void> {
    await this.#retrying((remainingMs) => this.#send(sql, parameters, abortAfter(remainingMs)));
  }

  /**
   * Make an index, for longer than the 45 s of a call if need be: the statement then continues in the database.
   *
   * @param isMade asked before each attempt, because the Data API does not report how a continued statement ended
   */
  async makeIndex(sql: string, isMade: () => Promise<boolean>): Promise<void> {
    let running: unknown;
    const attempt = async (remainingMs: number) => {
      if (await isMade()) return;
      if (running) throw running;
      try {
        await this.#send(sql, {}, abortAfter(remainingMs), { continueAfterTimeout: true });
      } catch (error) {
        // A repeated statement waits for the one before it, and is refused once that one has made the index.
        if (errorName(error) === 'StatementTimeoutException' || isSqlError(error, 'uniqueViolation')) running = error;
        throw error;
      }
    };
    await this.#retrying(attempt, (error) => error === running || isRetryable(error));
  }

  /**
   * Run `work` in a transaction. A transient failure rolls back and runs all of `work` again, as does a lost answer to
   * the commit: `work` must be repeatable. Its statements go one after the other (the Data API refuses concurrent ones).
   *
   * @param budgetMs milliseconds that all of it may take. @default - as a call
   */
  transaction<T>(work: (transaction: SqlExecutor) => Promise<T>, budgetMs?: number): Promise<T> {
    const { client, clusterArn: resourceArn, secretArn, database } = this.#options;
    return this.#retrying(
      async (remainingMs) => {
        const abort = abortAfter(remainingMs);
        const { transactionId } = await client.send(
          new BeginTransactionCommand({ resourceArn, secretArn, database }),
          abort,
        );
        if (!transactionId) throw new TypeError('the Data API began a transaction without an id');
        try {
          const value = await work({
            query: async (row, sql, parameters = {}) =>
              (await this.#send(sql, parameters, abort, { transactionId })).map((one) => row.parse(one)),
            execute: async (sql, parameters = {}) => {
              await this.#send(sql, parameters, abort, { transactionId });
            },
          });
          await client.send(new CommitTransactionCommand({ resourceArn, secretArn, transactionId }), abort);
          return value;
        } catch (error) {
          // The first failure is the one to report; the server drops the transaction automatically after three minutes.
          await client
            .send(new RollbackTransactionCommand({ resourceArn, secretArn, transactionId }), abortAfter(5000))
            .catch(() => undefined);
          throw error;
        }
      },
      isRetryable,
      budgetMs,
    );
  }

  async #retrying<T>(
    attempt: (remainingMs: number) => Promise<T>,
    isPassing = isRetryable,
    budgetMs = this.#options.remainingMs?.() ?? 40_000,
  ): Promise<T> {
    return retrying(attempt, { ...this.#options, budgetMs, isRetryable: isPassing, what: 'the database' });
  }

  async #send(
    sql: string,
    parameters: SqlParameters,
    abort: Abort,
    more: Pick<ExecuteStatementCommandInput, 'transactionId' | 'continueAfterTimeout'> = {},
  ): Promise<SqlRow[]> {
    const { client, clusterArn, secretArn, database } = this.#options;
    const answer = await client.send(
      new ExecuteStatementCommand({
        resourceArn: clusterArn,
        secretArn,
        database,
        sql,
        parameters: sqlParameters(parameters),
        includeResultMetadata: true,
        resultSetOptions: { longReturnType: 'STRING', decimalReturnType: 'STRING' },
        ...more,
      }),
      abort,
    );
    return sqlRows(answer.records, answer.columnMetadata);
  }
}

interface Abort {
  readonly abortSignal: AbortSignal;
}

/** A call without an answer must not outlive its caller: it is aborted when the caller's time ends. */
function abortAfter(remainingMs: number): Abort {
  return { abortSignal: AbortSignal.timeout(Math.max(Math.ceil(remainingMs), 1)) };
}

/**
 * Value of a named parameter. A plain string travels as `varchar`, so a statement casts where PostgreSQL would not;
 * `uuid`, `json` and `timestamp` travel with the Data API's type hint. There are no arrays: the Data API has none.
 */
export type SqlValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | { readonly uuid: string }
  | { readonly json: unknown }
  | { readonly timestamp: Date };

/** Value of a column: a `bigint` for every 64-bit integer, so that none loses digits; text for times, JSON, uuid, numeric. */
export type SqlResult = string | number | bigint | boolean | Uint8Array | null;
export type SqlRow = Readonly<Record<string, SqlResult>>;

function field(value: SqlValue): Field {
  if (value === null) return { isNull: true };
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { booleanValue: value };
  if (typeof value === 'number' && !Number.isInteger(value)) return { doubleValue: value };
  if (typeof value === 'number' || typeof value === 'bigint') {
    if (!Number.isSafeInteger(Number(value))) throw new RangeError(`expected an integer below 2^53, got ${value}`);
    return { longValue: Number(value) };
  }
  if ('uuid' in value) return { stringValue: value.uuid };
  if ('json' in value) return { stringValue: JSON.stringify(value.json) };
  // The form the Data API takes for TIMESTAMP: UTC, a space instead of the T, no zone.
  return { stringValue: value.timestamp.toISOString().slice(0, 23).replace('T', ' ') };
}

function typeHint(value: SqlValue): Pick<SqlParameter, 'typeHint'> {
  if (value === null || typeof value !== 'object') return {};
  if ('uuid' in value) return { typeHint: 'UUID' };
  return 'json' in value ? { typeHint: 'JSON' } : { typeHint: 'TIMESTAMP' };
}

/** Named parameters in the form of the Data API. @throws RangeError for an integer that JSON would round. */
export function sqlParameters(values: Readonly<Record<string, SqlValue>>): SqlParameter[] {
  return Object.entries(values).map(([name, value]) => ({ name, value: field(value), ...typeHint(value) }));
}

const int64 = new Set(['int8', 'bigint', 'bigserial']);
const smallIntegers = new Set(['int2', 'int4', 'smallint', 'int', 'integer', 'serial', 'smallserial']);

function result(value: Field, typeName: string): SqlResult {
  if (value.isNull) return null;
  if (value.blobValue !== undefined) return value.blobValue;
  if (value.booleanValue !== undefined) return value.booleanValue;
  const scalar = value.stringValue ?? value.longValue ?? value.doubleValue;
  if (scalar === undefined) throw new TypeError(`expected a scalar column, got an array of type ${typeName}`);
  // Asked for as text (`longReturnType`), because JSON numbers above 2^53 are rounded.
  if (int64.has(typeName)) return BigInt(scalar);
  return smallIntegers.has(typeName) ? Number(scalar) : scalar;
}

/** Rows of an answer as objects by column label. @throws TypeError for arrays, which the Data API cannot represent well. */
export function sqlRows(
  records: readonly (readonly Field[])[] | undefined,
  columns: readonly ColumnMetadata[] | undefined,
): SqlRow[] {
  return (records ?? []).map((record) =>
    Object.fromEntries(
      record.map((value, index) => {
        const column = columns?.[index];
        const name = column?.label ?? column?.name;
        if (name === undefined) throw new TypeError(`the Data API did not describe column ${index + 1}`);
        return [name, result(value, (column?.typeName ?? '').toLowerCase())];
      }),
    ),
  );
}
