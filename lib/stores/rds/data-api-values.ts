import type { ColumnMetadata, Field, SqlParameter } from '@aws-sdk/client-rds-data';

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
