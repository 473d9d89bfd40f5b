import { randomUUID } from 'node:crypto';
import { Client, type CustomTypesConfig, type QueryArrayConfig } from 'pg';
import { type SqlDatabase, type SqlResult, type SqlSession, toAwsError } from '../../lib/local/rds-data/database.ts';
import type { Login } from '../../lib/local/rds-data/database-login.ts';
import type { SqlValue } from '../../lib/local/rds-data/sql-values.ts';

/** PostgreSQL's own server in the place of the embedded one, behind the local RDS Data API: each statement logs in. */
export class ServerDatabase implements SqlDatabase {
  readonly #host: string;
  readonly #database: string;
  readonly #owner: Login;
  readonly #transactions = new Map<string, Client>();

  /** @param owner who a statement without a login comes from */
  constructor(options: { readonly host: string; readonly database: string; readonly owner: Login }) {
    this.#host = options.host;
    this.#database = options.database;
    this.#owner = options.owner;
  }

  async run(sql: string, values: readonly SqlValue[], { login, transactionId }: SqlSession = {}): Promise<SqlResult> {
    if (transactionId !== undefined) return query(this.#transaction(transactionId), sql, values);
    const client = await this.#connect(login);
    return query(client, sql, values).finally(() => client.end());
  }

  async begin(login?: Login): Promise<string> {
    const client = await this.#connect(login);
    await client.query('begin');
    const id = randomUUID();
    this.#transactions.set(id, client);
    return id;
  }

  async end(transactionId: string, command: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    const client = this.#transaction(transactionId);
    this.#transactions.delete(transactionId);
    await client.query(command).finally(() => client.end());
  }

  async close(): Promise<void> {
    await Promise.all([...this.#transactions.values()].map((client) => client.end()));
  }

  #transaction(id: string): Client {
    const client = this.#transactions.get(id);
    if (!client) throw new Error(`no transaction ${id}`);
    return client;
  }

  async #connect({ username: user, password }: Login = this.#owner): Promise<Client> {
    const client = new Client({ host: this.#host, database: this.#database, user, password });
    await client.connect().catch((error: unknown) => {
      throw toAwsError(error);
    });
    return client;
  }
}

async function query(client: Client, text: string, values: readonly SqlValue[]): Promise<SqlResult> {
  // The driver sends the members of `types` as the parameters' types, and asks the same object how to read columns.
  const asText: CustomTypesConfig = { getTypeParser: () => (value: string) => value };
  const types = Object.assign(
    values.map(({ oid }) => oid),
    asText,
  );
  // The extended protocol takes one statement, as the Data API does.
  const config: QueryArrayConfig & { readonly queryMode: 'extended' } = {
    text,
    values: values.map((value) => value.text),
    types,
    rowMode: 'array',
    queryMode: 'extended',
  };
  try {
    const result = await client.query<(string | null)[]>(config);
    return {
      columns: result.fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID })),
      rows: result.rows,
      changed: result.command === 'SELECT' ? 0 : (result.rowCount ?? 0),
    };
  } catch (error) {
    throw toAwsError(error);
  }
}
