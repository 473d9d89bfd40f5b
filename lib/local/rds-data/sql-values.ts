import { AwsError } from '../endpoint/errors.ts';
import { record } from '../template/template.ts';

/** A parameter as PostgreSQL's wire protocol takes it: text, and the OID of the type it is declared with. */
export interface SqlValue {
  readonly text: string | null;
  /** 0: PostgreSQL decides. */
  readonly oid: number;
}

/** Type hints of the Data API, as OIDs. */
const hints: Readonly<Record<string, number>> = { JSON: 114, TIMESTAMP: 1114, UUID: 2950 };

/**
 * Read the value of a `SqlParameter`. A string without a type hint is declared as `varchar`, as the Data API does it: a
 * statement that lacks a cast also fails here.
 *
 * @throws AwsError BadRequestException for a value or a type hint that this service does not send
 */
export function parseSqlValue({ name, value, typeHint }: Readonly<Record<string, unknown>>): SqlValue {
  const hinted = typeHint === undefined ? undefined : hints[String(typeHint)];
  if (typeHint !== undefined && hinted === undefined) throw unknownHere(`the type hint ${String(typeHint)}`);
  const { isNull, stringValue, longValue, doubleValue, booleanValue, ...others } = record(value);
  if (isNull === true) return { text: null, oid: hinted ?? 0 };
  if (typeof stringValue === 'string') return { text: stringValue, oid: hinted ?? 1043 };
  if (Number.isInteger(longValue)) return { text: String(longValue), oid: 20 };
  if (typeof doubleValue === 'number') return { text: String(doubleValue), oid: 701 };
  if (typeof booleanValue === 'boolean') return { text: String(booleanValue), oid: 16 };
  throw unknownHere(`the value of the parameter ${String(name)} (${Object.keys(others).join(', ')})`);
}

/** The types of columns that this service reads, by OID, with their names in `columnMetadata`. */
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
/** Types that a database defines itself, such as enumerations, have OIDs from here on. */
const firstOwnType = 16_384;

/**
 * A column value in text form as the `Field` of a Data API record.
 *
 * @throws AwsError UnsupportedResultException for another type: an array, or one that the Data API refuses as well
 */
export function toField(text: string | null, type: number, longsAsStrings: boolean): Readonly<Record<string, unknown>> {
  const typeName = typeNames[type];
  if (typeName === undefined && type < firstOwnType) {
    const message = `The local Data API does not return columns of the type with OID ${type}. Cast the column to text.`;
    throw new AwsError(400, 'UnsupportedResultException', message);
  }
  if (text === null) return { isNull: true };
  switch (typeName) {
    case 'bool':
      return { booleanValue: text === 't' };
    case 'int2':
    case 'int4':
    case 'int8':
      return longsAsStrings ? { stringValue: text } : { longValue: Number(text) };
    case 'float4':
    case 'float8':
      return { doubleValue: Number(text) };
    case 'bytea':
      return { blobValue: Buffer.from(text.slice(2), 'hex').toString('base64') };
    case 'timestamptz':
      // The session runs in UTC. The Data API leaves the offset out.
      return { stringValue: text.replace(/\+00$/, '') };
    default:
      return { stringValue: text };
  }
}

/** One entry of `columnMetadata`. */
export function columnMetadata(name: string, type: number): Readonly<Record<string, unknown>> {
  return { name, label: name, typeName: typeNames[type] ?? String(type), nullable: 2 };
}

/** For what the Data API has and this engine lacks. */
export function unknownHere(what: string): AwsError {
  return new AwsError(400, 'BadRequestException', `the local Data API does not know ${what}`);
}
