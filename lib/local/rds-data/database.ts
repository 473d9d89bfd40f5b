import { randomUUID } from 'node:crypto';
import { type PGlite, type Results, types } from '@electric-sql/pglite';
import { AwsError } from '../endpoint/errors.ts';
import { authenticate, type Login } from './database-login.ts';
import { prepareRestriction, refusePasswords, setsPassword } from './password-restriction.ts';
import { openPostgres } from './postgres-image.ts';
import type { SqlValue } from './sql-values.ts';

/** Rows in PostgreSQL's text form. */
export interface SqlResult {
  readonly columns: readonly { readonly name: string; readonly type: number }[];
  readonly rows: readonly (readonly (string | null)[])[];
  /** Rows that an INSERT, UPDATE, DELETE or MERGE changed. */
  readonly changed: number;
}

/** The role and the transaction in which a statement runs. */
export interface SqlSession {
  /** @default - the owner of the database, who may do everything */
  readonly login?: Login | undefined;
  readonly transactionId?: string | undefined;
}

/** What the Data API needs of a database. */
export type SqlDatabase = Pick<Database, 'run' | 'begin' | 'end' | 'close'>;

/** The role with which the embedded engine begins. A session comes back to it by this name. */
const owner = 'postgres';
/** The Data API rolls back a transaction that was idle for this long. */
const idleMs = 3 * 60_000;
/** The Data API ends a statement after this time, the wait for a connection included. */
const statementMs = 45_000;

/**
 * The embedded PostgreSQL, which has one connection. A transaction holds it until it ends. Other callers wait, at most
 * as long as a statement may take: a function that calls outside its own transaction gets an error, not a deadlock.
 */
export class Database {
  readonly #postgres: PGlite;
  readonly #waiting: (() => void)[] = [];
  #taken = false;
  #transaction:
    | { readonly id: string; readonly username: string | undefined; idle: NodeJS.Timeout; running: boolean }
    | undefined;

  /** Of the roles that were let in: authentication takes longer than a statement. */
  readonly #passwords = new Map<string, string>();
  /** Whether the session is the owner's. A role's session stays until the next statement, which sets the role again anyway. */
  #isOwners = true;

  private constructor(postgres: PGlite) {
    this.#postgres = postgres;
  }

  /** @param dataDir created if missing */
  static async open(dataDir: string): Promise<Database> {
    const postgres = await openPostgres(dataDir);
    await postgres.exec("SET timezone TO 'UTC'");
    await prepareRestriction(postgres);
    return new Database(postgres);
  }

  /** Run one statement, alone or in a transaction. @throws AwsError as the Data API puts it. */
  async run(sql: string, values: readonly SqlValue[], { login, transactionId }: SqlSession = {}): Promise<SqlResult> {
    if (transactionId !== undefined) {
      if (this.#transaction?.id === transactionId && this.#transaction.username !== login?.username) {
        throw new AwsError(400, 'BadRequestException', 'the transaction was begun with other credentials');
      }
      return this.#inTransaction(transactionId, () => this.#query(sql, values, login));
    }
    await this.#take();
    try {
      await this.#authenticate(login);
      if (login) {
        this.#isOwners = false;
        await this.#postgres.exec(become(login, 'SESSION'));
      }
      return await this.#query(sql, values, login);
    } finally {
      this.#release();
    }
  }

  async begin(login?: Login): Promise<string> {
    await this.#take();
    try {
      await this.#begin(login);
    } catch (error) {
      await this.#postgres.exec('ROLLBACK').finally(() => this.#release());
      throw error;
    }
    const id = Buffer.from(randomUUID()).toString('base64');
    this.#transaction = { id, username: login?.username, running: false, idle: this.#expireLater(id) };
    return id;
  }

  async end(transactionId: string, command: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    await this.#inTransaction(transactionId, async () => {
      try {
        await this.#postgres.exec(command);
      } catch (error) {
        throw toAwsError(error);
      } finally {
        // PostgreSQL rolls back what it cannot commit.
        this.#transaction = undefined;
      }
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#transaction?.idle);
    await this.#postgres.close();
  }

  /** A commit takes the role away again, and so does a rollback. */
  async #begin(login: Login | undefined): Promise<void> {
    await this.#authenticate(login);
    await this.#postgres.exec(login ? `BEGIN; ${become(login, 'LOCAL')}` : 'BEGIN');
  }

  /** Authenticate a role outside a transaction, or return to the owner's session. @throws AwsError for a wrong login */
  async #authenticate(login: Login | undefined): Promise<void> {
    if (login && this.#passwords.get(login.username) === login.password) return;
    if (!this.#isOwners) await this.#postgres.exec(`SET SESSION AUTHORIZATION ${owner}`);
    this.#isOwners = true;
    if (!login) return;
    await authenticate(this.#postgres, login);
    this.#passwords.set(login.username, login.password);
  }

  async #inTransaction<T>(id: string, action: () => Promise<T>): Promise<T> {
    const transaction = this.#transaction;
    if (transaction?.id !== id) {
      throw new AwsError(404, 'TransactionNotFoundException', `Transaction ${id} is not found`);
    }
    if (transaction.running) {
      throw new AwsError(400, 'DatabaseErrorException', 'Transaction is still running a query.');
    }
    clearTimeout(transaction.idle);
    transaction.running = true;
    try {
      return await action();
    } finally {
      transaction.running = false;
      if (this.#transaction === transaction) transaction.idle = this.#expireLater(id);
      else this.#release();
    }
  }

  #expireLater(id: string): NodeJS.Timeout {
    return setTimeout(() => void this.end(id, 'ROLLBACK').catch(() => {}), idleMs).unref();
  }

  async #query(sql: string, values: readonly SqlValue[], login: Login | undefined): Promise<SqlResult> {
    try {
      if (login && setsPassword(sql)) await refusePasswords(this.#postgres);
      const result: Results<(string | null)[]> = await this.#postgres.query(
        sql,
        values.map(({ text }) => text),
        { rowMode: 'array', parsers: asText, serializers: asText, paramTypes: values.map(({ oid }) => oid) },
      );
      return {
        columns: result.fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID })),
        rows: result.rows,
        changed: result.command === 'SELECT' ? 0 : (result.affectedRows ?? 0),
      };
    } catch (error) {
      throw toAwsError(error);
    } finally {
      if (/\b(?:role|user|pg_authid)\b/i.test(sql)) this.#passwords.clear();
    }
  }

  async #take(): Promise<void> {
    if (!this.#taken) {
      this.#taken = true;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const turn = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        reject(new AwsError(400, 'StatementTimeoutException', 'Request timed out'));
      }, statementMs);
      this.#waiting.push(turn);
    });
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken = false;
  }
}

/** After a mere SET ROLE, a statement could take any other role again. */
function become({ username }: Login, extent: 'SESSION' | 'LOCAL'): string {
  return `SET ${extent} SESSION AUTHORIZATION "${username.replaceAll('"', '""')}"`;
}

/** Every type as the text that PostgreSQL sends and takes. */
const asText = Object.fromEntries(
  Object.values(types)
    .filter((type) => typeof type === 'number')
    .map((type) => [type, (value: string) => value]),
);

/** PostgreSQL's error as the Data API puts it. Any other error stays as it is, also one that was put so before. */
export function toAwsError(error: unknown): Error {
  if (error instanceof AwsError) return error;
  if (!(error instanceof Error) || !('code' in error)) return error instanceof Error ? error : new Error(String(error));
  if (error.message.includes('multiple commands into a prepared statement')) {
    return new AwsError(400, 'ValidationException', 'Multistatements aren’t supported.');
  }
  const detail = 'detail' in error && error.detail ? `\n  Detail: ${String(error.detail)}` : '';
  return new AwsError(
    400,
    'DatabaseErrorException',
    `ERROR: ${error.message}${detail}; SQLState: ${String(error.code)}`,
  );
}
