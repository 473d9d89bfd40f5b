import { type BufferedService, type JsonObject, parseJson } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import { list, record } from '../template/template.ts';
import type { SqlDatabase, SqlResult } from './database.ts';
import type { Login } from './database-login.ts';
import { toPositional } from './sql-parameters.ts';
import { columnMetadata, parseSqlValue, type SqlValue, toField, unknownHere } from './sql-values.ts';

/** The one cluster that the Data API serves. */
export interface Cluster {
  readonly arn: string;
  /** Secret of the owner of the database. */
  readonly secretArn: string;
  readonly databaseName: string;
  /** The login in another secret. `undefined`: there is no such secret, or it holds no login. */
  login(secretArn: string): Login | undefined;
}

/** What a request may carry, whichever its action. */
const members: ReadonlySet<string> = new Set([
  ...['resourceArn', 'secretArn', 'database', 'transactionId'],
  ...['sql', 'parameters', 'includeResultMetadata', 'resultSetOptions', 'continueAfterTimeout'],
]);
const resultLimit = 1024 * 1024;

/** The RDS Data API over the embedded PostgreSQL, as far as this service uses it. */
export function rdsDataService(database: SqlDatabase, cluster: Cluster): BufferedService {
  return {
    parse(path, _headers, body) {
      const action = path === '/Execute' ? 'ExecuteStatement' : path.slice(1);
      if (!Object.hasOwn(operations, action))
        throw new AwsError(404, 'UnknownOperationException', `no operation ${path}`);
      const input = parseJson(body);
      return {
        action,
        input,
        permissions: [
          { action: `rds-data:${action}`, resource: String(input.resourceArn) },
          { action: 'secretsmanager:GetSecretValue', resource: String(input.secretArn) },
        ],
      };
    },
    async handle(action, input) {
      const unknown = Object.keys(input).find((name) => !members.has(name));
      if (unknown !== undefined) throw unknownHere(`the member ${unknown} of ${action}`);
      const login = loginOf(input, cluster);
      const body = JSON.stringify(await operations[action]?.(database, input, login));
      if (Buffer.byteLength(body) > resultLimit) {
        throw new AwsError(400, 'BadRequestException', 'Database returned more than the allowed response size limit');
      }
      return { status: 200, headers: { 'content-type': 'application/json' }, body };
    },
  };
}

type Operation = (database: SqlDatabase, input: JsonObject, login: Login | undefined) => Promise<JsonObject>;

const operations: Readonly<Record<string, Operation>> = {
  async ExecuteStatement(database, input, login) {
    const [sql, values] = bind(String(input.sql), input.parameters);
    const transactionId = input.transactionId === undefined ? undefined : String(input.transactionId);
    return shape(await database.run(sql, values, { login, transactionId }), input);
  },
  async BeginTransaction(database, _input, login) {
    return { transactionId: await database.begin(login) };
  },
  async CommitTransaction(database, input) {
    await database.end(String(input.transactionId), 'COMMIT');
    return { transactionStatus: 'Transaction Committed' };
  },
  async RollbackTransaction(database, input) {
    await database.end(String(input.transactionId), 'ROLLBACK');
    return { transactionStatus: 'Rollback Complete' };
  },
};

/**
 * The role that calls. `undefined` is the owner of the database. @throws AwsError for another cluster, secret or
 * database.
 */
function loginOf(input: JsonObject, cluster: Cluster): Login | undefined {
  if (input.resourceArn !== cluster.arn) {
    throw new AwsError(
      400,
      'BadRequestException',
      'HttpEndpoint is not enabled for resource, or there is no such cluster',
    );
  }
  const { secretArn, database } = input;
  const login = secretArn === cluster.secretArn ? undefined : cluster.login(String(secretArn));
  if (!login && secretArn !== cluster.secretArn) {
    throw new AwsError(400, 'SecretsErrorException', 'the secret holds no credentials of this cluster');
  }
  if (database !== undefined && database !== cluster.databaseName) {
    throw new AwsError(
      400,
      'DatabaseErrorException',
      `FATAL: database "${String(database)}" does not exist; SQLState: 3D000`,
    );
  }
  return login;
}

function bind(statement: string, parameters: unknown): readonly [string, readonly SqlValue[]] {
  const { sql, names } = toPositional(statement);
  const given = new Map(list(parameters).map((entry) => [String(record(entry).name), record(entry)]));
  const values = names.map((name) => {
    const parameter = given.get(name);
    if (!parameter) throw new AwsError(400, 'BadRequestException', `Cannot find parameter: ${name}`);
    return parseSqlValue(parameter);
  });
  return [sql, values];
}

function shape(result: SqlResult, input: JsonObject): JsonObject {
  const longsAsStrings = record(input.resultSetOptions).longReturnType === 'STRING';
  const output = { numberOfRecordsUpdated: result.changed, generatedFields: [] };
  if (result.columns.length === 0) return output;
  return {
    ...output,
    records: result.rows.map((row) =>
      row.map((value, at) => toField(value, result.columns[at]?.type ?? 25, longsAsStrings)),
    ),
    ...(input.includeResultMetadata === true && {
      columnMetadata: result.columns.map(({ name, type }) => columnMetadata(name, type)),
    }),
  };
}
