import { AwsError } from '../endpoint/errors.ts';
import { record } from '../template/template.ts';

/** A parameter as PostgreSQL's wire protocol takes it: text, and the OID of the type it is declared with. */
export interface SqlValue {
  readonly text: string | null;
  /** 0: PostgreSQL decides. */
  readonly oid: number;
}

const oid = { bool: 16, bytea: 17, int8: 20, int2: 21, int4: 23, json: 114, float4: 700, float8: 701, varchar: 1043 };
/** Type hints of the Data API, as OIDs. */
const hints: Readonly<Record<string, number>> = {
  DATE: 1082,
  DECIMAL: 1700,
  JSON: oid.json,
  TIME: 1083,
  TIMESTAMP: 1114,
  UUID: 2950,
};

/**
 * Read the value of a `SqlParameter`. A string without a type hint is declared as `varchar`, as the Data API does it, so
 * that a cast that is missing is missed here, too.
 *
 * @throws AwsError for arrays and for what is no value.
 */
export function parseSqlValue(parameter: Readonly<Record<string, unknown>>): SqlValue {
  const { name, value, typeHint } = parameter;
  const field = record(value);
  const hinted = typeHint === undefined ? undefined : hints[String(typeHint)];
  if (typeHint !== undefined && hinted === undefined) throw badRequest(`unknown type hint ${String(typeHint)}`);
  if (field['isNull'] === true) return { text: null, oid: hinted ?? 0 };
  if (typeof field['stringValue'] === 'string') return { text: field['stringValue'], oid: hinted ?? oid.varchar };
  if (typeof field['longValue'] === 'number') {
    if (!Number.isInteger(field['longValue'])) throw badRequest(`longValue of ${String(name)} is not a whole number`);
    return { text: String(field['longValue']), oid: oid.int8 };
  }
  if (typeof field['doubleValue'] === 'number') return { text: String(field['doubleValue']), oid: oid.float8 };
  if (typeof field['booleanValue'] === 'boolean') return { text: String(field['booleanValue']), oid: oid.bool };
  if (typeof field['blobValue'] === 'string') {
    return { text: `\\x${Buffer.from(field['blobValue'], 'base64').toString('hex')}`, oid: oid.bytea };
  }
  if (field['arrayValue'] !== undefined) throw badRequest('Array parameters are not supported.');
  throw badRequest(`parameter ${String(name)} has no value`);
}

/** Types whose columns the Data API refuses. */
const unsupported = new Set([600, 601, 602, 603, 604, 628, 718, 790, 2205, 2278]);
const arrays: Readonly<Record<number, number>> = {
  1000: oid.bool,
  1005: oid.int2,
  1007: oid.int4,
  1009: 25,
  1015: oid.varchar,
  1016: oid.int8,
  1021: oid.float4,
  1022: oid.float8,
  2951: 2950,
};

/** A column value in text form as the `Field` of a Data API record. @throws AwsError UnsupportedResultException. */
export function toField(text: string | null, type: number, options: ResultOptions): Readonly<Record<string, unknown>> {
  if (unsupported.has(type)) {
    throw new AwsError(
      400,
      'UnsupportedResultException',
      'The result contains the unsupported data type; cast it to text.',
    );
  }
  if (text === null) return { isNull: true };
  const element = arrays[type];
  if (element !== undefined) return { arrayValue: arrayField(parseArray(text), element) };
  switch (type) {
    case oid.bool:
      return { booleanValue: text === 't' };
    case oid.int2:
    case oid.int4:
    case oid.int8:
      return options.longsAsStrings ? { stringValue: text } : { longValue: Number(text) };
    case oid.float4:
    case oid.float8:
      return { doubleValue: Number(text) };
    case 1700:
      return options.decimalsAsNumbers ? { doubleValue: Number(text) } : { stringValue: text };
    case oid.bytea:
      return { blobValue: Buffer.from(text.slice(2), 'hex').toString('base64') };
    default:
      // The session runs in UTC; the Data API leaves the offset of a timestamptz out.
      return { stringValue: type === 1184 ? text.replace(/\+00$/, '') : text };
  }
}

/** `resultSetOptions` of ExecuteStatement. */
export interface ResultOptions {
  readonly longsAsStrings: boolean;
  readonly decimalsAsNumbers: boolean;
}

function arrayField(items: readonly (string | null)[], element: number): Readonly<Record<string, unknown>> {
  const values = items.map((item) => item ?? '');
  if (element === oid.bool) return { booleanValues: values.map((value) => value === 't') };
  if (element === oid.int2 || element === oid.int4 || element === oid.int8) return { longValues: values.map(Number) };
  if (element === oid.float4 || element === oid.float8) return { doubleValues: values.map(Number) };
  return { stringValues: values };
}

/** PostgreSQL's text form of a one-dimensional array. */
function parseArray(text: string): (string | null)[] {
  if (text.startsWith('{{')) {
    throw new AwsError(400, 'UnsupportedResultException', 'Multidimensional arrays are not supported.');
  }
  return [...text.slice(1, -1).matchAll(/"((?:[^"\\]|\\[\s\S])*)"|([^,]+)/g)].map(([, quoted, bare]) =>
    quoted === undefined ? (bare === 'NULL' ? null : (bare ?? '')) : quoted.replace(/\\([\s\S])/g, '$1'),
  );
}

const typeNames: Readonly<Record<number, string>> = {
  16: 'bool',
  17: 'bytea',
  20: 'int8',
  21: 'int2',
  23: 'int4',
  25: 'text',
  114: 'json',
  700: 'float4',
  701: 'float8',
  1043: 'varchar',
  1082: 'date',
  1083: 'time',
  1114: 'timestamp',
  1184: 'timestamptz',
  1700: 'numeric',
  2950: 'uuid',
  3802: 'jsonb',
};

/** One entry of `columnMetadata`. */
export function columnMetadata(name: string, type: number): Readonly<Record<string, unknown>> {
  return { name, label: name, typeName: typeNames[type] ?? String(type), nullable: 2 };
}

function badRequest(message: string): AwsError {
  return new AwsError(400, 'BadRequestException', message);
}
