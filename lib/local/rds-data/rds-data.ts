import { AwsError, type AwsReply } from '../endpoint/errors.ts';
import { type JsonObject, type JsonService, parseJson } from '../endpoint/json-service.ts';
import { list, record } from '../template/template.ts';
import type { SqlDatabase, SqlResult, SqlSession } from './database.ts';
import type { Login } from './database-login.ts';
import { toPositional } from './sql-parameters.ts';
import { columnMetadata, parseSqlValue, type ResultOptions, type SqlValue, toField } from './sql-values.ts';

/** The one cluster that the Data API serves. */
export interface Cluster {
  readonly arn: string;
  /** Secret of the owner of the database. */
  readonly secretArn: string;
  readonly databaseName: string;
  /** What another secret holds; `undefined` when it is not there or holds no login. */
  login(secretArn: string): Login | undefined;
}

const actions: Readonly<Record<string, string>> = {
  '/Execute': 'ExecuteStatement',
  '/BatchExecute': 'BatchExecuteStatement',
  '/BeginTransaction': 'BeginTransaction',
  '/CommitTransaction': 'CommitTransaction',
  '/RollbackTransaction': 'RollbackTransaction',
};
const resultLimit = 1024 * 1024;

/** The RDS Data API over the embedded PostgreSQL. */
export function rdsDataService(database: SqlDatabase, cluster: Cluster): JsonService {
  return {
    parse(path, _headers, body) {
      const action = actions[path];
      if (!action) throw new AwsError(404, 'UnknownOperationException', `no operation ${path}`);
      const input = parseJson(body);
      return {
        action,
        input,
        permissions: [
          { action: `rds-data:${action}`, resource: String(input['resourceArn']) },
          { action: 'secretsmanager:GetSecretValue', resource: String(input['secretArn']) },
        ],
      };
    },
    async handle(action, input) {
      const login = loginOf(input, cluster);
      const operation = operations[action];
      if (!operation) throw new AwsError(404, 'UnknownOperationException', action);
      const output = JSON.stringify(await operation(database, input, login));
      if (Buffer.byteLength(output) > resultLimit) {
        throw new AwsError(400, 'BadRequestException', 'Database returned more than the allowed response size limit');
      }
      return reply(output);
    },
  };
}

type Operation = (database: SqlDatabase, input: JsonObject, login: Login | undefined) => Promise<JsonObject>;

const operations: Readonly<Record<string, Operation>> = {
  async ExecuteStatement(database, input, login) {
    const [sql, values] = bind(String(input['sql']), input['parameters']);
    return shape(await database.run(sql, values, sessionOf(input, login)), input);
  },
  async BatchExecuteStatement(database, input, login) {
    const sets = list(input['parameterSets'] ?? [[]]);
    for (const set of sets) {
      const [sql, values] = bind(String(input['sql']), set);
      await database.run(sql, values, sessionOf(input, login));
    }
    return { updateResults: sets.map(() => ({ generatedFields: [] })) };
  },
  async BeginTransaction(database, _input, login) {
    return { transactionId: await database.begin(login) };
  },
  async CommitTransaction(database, input) {
    await database.end(String(input['transactionId']), 'COMMIT');
    return { transactionStatus: 'Transaction Committed' };
  },
  async RollbackTransaction(database, input) {
    await database.end(String(input['transactionId']), 'ROLLBACK');
    return { transactionStatus: 'Rollback Complete' };
  },
};

/** Who calls; `undefined` is the owner of the database. @throws AwsError for another cluster, secret or database. */
function loginOf(input: JsonObject, cluster: Cluster): Login | undefined {
  if (input['resourceArn'] !== cluster.arn) {
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
  const given = new Map(list(parameters).map((entry) => [String(record(entry)['name']), record(entry)]));
  const values = names.map((name) => {
    const parameter = given.get(name);
    if (!parameter) throw new AwsError(400, 'BadRequestException', `Cannot find parameter: ${name}`);
    return parseSqlValue(parameter);
  });
  return [sql, values];
}

function sessionOf({ transactionId }: JsonObject, login: Login | undefined): SqlSession {
  return { login, transactionId: typeof transactionId === 'string' ? transactionId : undefined };
}

function shape(result: SqlResult, input: JsonObject): JsonObject {
  const resultSet = record(input['resultSetOptions']);
  const options: ResultOptions = {
    longsAsStrings: resultSet['longReturnType'] === 'STRING',
    decimalsAsNumbers: resultSet['decimalReturnType'] === 'DOUBLE_OR_LONG',
  };
  const fields = result.rows.map((row) =>
    row.map((value, at) => toField(value, result.columns[at]?.type ?? 25, options)),
  );
  const output = { numberOfRecordsUpdated: result.changed, generatedFields: [] };
  if (result.columns.length === 0) return output;
  if (input['formatRecordsAs'] === 'JSON') {
    const names = result.columns.map(({ name }) => name);
    if (new Set(names).size < names.length) {
      throw new AwsError(400, 'UnsupportedResultException', 'column names must be unique with formatRecordsAs JSON');
    }
    const records = fields.map((row) => Object.fromEntries(row.map((field, at) => [names[at], plain(field)])));
    return { ...output, formattedRecords: JSON.stringify(records) };
  }
  return {
    ...output,
    records: fields,
    ...(input['includeResultMetadata'] === true
      ? { columnMetadata: result.columns.map(({ name, type }) => columnMetadata(name, type)) }
      : {}),
  };
}

function plain(field: Readonly<Record<string, unknown>>): unknown {
  return field['isNull'] === true ? null : Object.values(field)[0];
}

function reply(body: string): AwsReply {
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}
