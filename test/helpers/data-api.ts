import { RDSDataClient } from '@aws-sdk/client-rds-data';
import { AwsError, type AwsReply, errorReply } from '../../lib/local/endpoint/errors.ts';
import type { SqlDatabase } from '../../lib/local/rds-data/database.ts';
import { rdsDataService } from '../../lib/local/rds-data/rds-data.ts';
import { DataApi, type DataApiOptions } from '../../lib/service/stores/rds/data-api.ts';
import { migrate } from '../../lib/service/stores/rds/migrate.ts';
import { httpHandler, testClient, textOf } from './http-handler.ts';
import { readMigrations } from './read-migrations.ts';
import { temporaryDatabase } from './temporary-database.ts';

const cluster = {
  arn: 'arn:aws:rds:test:1:cluster:c',
  secretArn: 'arn:aws:secretsmanager:test:1:s',
  databaseName: 'sda',
};

/** A call of the SDK. */
interface Command {
  readonly constructor: { readonly name: string };
  readonly input: object;
}

/** Secrets of other roles than the owner, by ARN. */
type Logins = Readonly<Record<string, { readonly username: string; readonly password: string }>>;

/** What happens to the next call of an action: refused, or carried out and its answer lost. */
export interface DataApiFault {
  readonly action: string;
  /** Only a call with such a body. */
  readonly body?: RegExp;
  readonly error: Error;
  readonly carriedOut?: boolean;
}

/** Deletes all rows and restarts the sequences. A deletion is twenty times as quick as `truncate`, unless there are thousands of rows. */
const emptied = `do $$ declare cleared text; begin
  perform set_config('session_replication_role', 'replica', true);
  for cleared in select format('%I.%I', schemaname, tablename) from pg_tables
    where schemaname in ('sda', 'data_out') and tablename not in ('schema_migrations', 'dataset_events') loop
    if pg_relation_size(cleared) > 200000 then execute 'truncate ' || cleared || ' cascade';
    else execute 'delete from ' || cleared; end if;
  end loop;
  perform setval(oid, 1, false) from pg_class
    where relkind = 'S' and relnamespace in ('sda'::regnamespace, 'data_out'::regnamespace);
end $$`;

/** One for each worker: its test files run one after the other. */
let shared: Promise<TestDatabase> | undefined;

/**
 * A real PostgreSQL, in memory by default, behind the local RDS Data API, reached through the SDK's client without a socket. Time is
 * simulated: a pause ends at once and moves the clock.
 */
export class TestDatabase implements AsyncDisposable {
  readonly database: SqlDatabase;
  /** Actions that reached the Data API. */
  readonly actions: string[] = [];
  /** Bodies of the calls, as they were sent. */
  readonly bodies: string[] = [];
  readonly faults: DataApiFault[] = [];
  readonly pauses: number[] = [];
  logins: Logins = {};
  now = 0;
  /** Whether the SDK puts calls on the wire, and reads the answers. That takes as much time as their statements. */
  isOnWire = false;

  /** Over a database of another kind. */
  constructor(database: SqlDatabase) {
    this.database = database;
  }

  static async open(): Promise<TestDatabase> {
    return new TestDatabase(await temporaryDatabase());
  }

  /** With all migrations applied. */
  static async migrated(): Promise<TestDatabase> {
    const test = await TestDatabase.open();
    await migrate(test.dataApi(), readMigrations());
    return test;
  }

  /**
   * The migrated database that all files of one worker share, with no rows: a start takes a second of a processor. For
   * tests that leave schema and rights as they are. It ends with the worker.
   */
  static async shared(): Promise<TestDatabase> {
    shared ??= TestDatabase.migrated();
    const { database } = await shared;
    const test = new TestDatabase({ ...database, close: async () => {} });
    await test.sql(emptied);
    return test;
  }

  dataApi(options: Partial<DataApiOptions> = {}): DataApi {
    return new DataApi({
      client: this.isOnWire ? this.#client() : ({ send: (command: Command) => this.#send(command) } as never),
      clusterArn: cluster.arn,
      secretArn: cluster.secretArn,
      database: cluster.databaseName,
      now: () => this.now,
      random: () => 0.5,
      sleep: async (milliseconds) => {
        this.pauses.push(milliseconds);
        this.now += milliseconds;
      },
      ...options,
    });
  }

  /** Run SQL past the code under test. @returns rows in PostgreSQL's text form */
  async sql(text: string): Promise<readonly (readonly (string | null)[])[]> {
    return (await this.database.run(text, [])).rows;
  }

  /** Delete all rows: with few of them much quicker than `truncate`, which makes each file again. */
  async deleteFrom(...tables: readonly string[]): Promise<void> {
    for (const table of tables) await this.sql(`delete from ${table}`);
  }

  /** Back to an empty database: much quicker than another one. */
  async empty(): Promise<void> {
    await this.sql('drop schema if exists sda, data_out, public cascade');
    await this.sql('create schema public');
    for (const role of ['data_out_auditor', 'data_out_proxy', 'data_out_reader', 'data_out_worker'])
      await this.sql(`drop role if exists ${role}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.close();
  }

  #client(): RDSDataClient {
    return new RDSDataClient({
      ...testClient,
      endpoint: 'http://rds-data.test',
      maxAttempts: 1,
      requestHandler: httpHandler((request) => {
        const { action } = this.#service().parse(request.path, request.headers, Buffer.from(textOf(request)), '');
        return this.#answer(action, textOf(request)).catch(refusal);
      }),
    });
  }

  /** A call in the form that the SDK's client has, also when it fails. */
  async #send(command: Command): Promise<object> {
    try {
      const { body } = await this.#answer(
        command.constructor.name.replace(/Command$/, ''),
        JSON.stringify(command.input),
      );
      return JSON.parse(String(body));
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      const { code: name, message, status } = error;
      throw Object.assign(new Error(message), { name, $metadata: { httpStatusCode: status } });
    }
  }

  #service() {
    return rdsDataService(this.database, { ...cluster, login: (arn) => this.logins[arn] });
  }

  async #answer(action: string, body: string): Promise<ReturnType<typeof copy>> {
    this.actions.push(action);
    this.bodies.push(body);
    const index = this.faults.findIndex((fault) => fault.action === action && (fault.body ?? /^/).test(body));
    const [fault] = index < 0 ? [] : this.faults.splice(index, 1);
    if (fault && !fault.carriedOut) throw fault.error;
    const reply = await this.#service().handle(action, JSON.parse(body), Buffer.from(body), {});
    if (fault) throw fault.error;
    return copy(reply);
  }
}

function refusal(error: unknown) {
  if (error instanceof AwsError) return copy(errorReply('rds-data', error));
  throw error;
}

function copy({ status, headers, body }: AwsReply) {
  return { status, headers: { ...headers }, body };
}
