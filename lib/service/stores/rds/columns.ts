import * as z from 'zod';

/** Most rows of one result. Identifiers have at most 256 characters, so 1,000 rows stay far below its limit of 1 MiB. */
export const pageSize = 1000;

/** A size in bytes, a number of rows or an id. The Data API answers 64-bit integers as text. */
export const count = z.coerce.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);

/** A time as ISO 8601 with milliseconds. A statement with it takes the parameter {@link timeFormat}. */
export const isoTime = (column: string) => `to_char(${column} at time zone 'UTC', :time_format)`;

/** The format is a parameter, because the Data API might take colons in a statement for parameters. */
export const timeFormat = { time_format: 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"' };

type CamelCase<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<CamelCase<Rest>>}` : Name;

/** A row by the names of its columns, which the result has in camel case: `request_id` becomes `requestId`. */
export function camelRow<Shape extends z.ZodRawShape>(shape: Shape) {
  type Row = z.infer<z.ZodObject<Shape>>;
  const camelCase = (name: string) => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return z.object(shape).transform((row) => {
    const entries = Object.entries(row).map(([name, value]) => [camelCase(name), value]);
    return Object.fromEntries(entries) as { readonly [Name in keyof Row as CamelCase<Name> & string]: Row[Name] };
  });
}

/** The reverse, for parameters and the objects in them: `requestId` becomes `request_id`. */
export function snakeCase(row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const entries = Object.entries(row).map(([name, value]) => [name.replaceAll(/[A-Z]/g, '_$&').toLowerCase(), value]);
  return Object.fromEntries(entries);
}

/** A column that may be null, as it also is in a result without it. */
export const optional = <T extends z.ZodType>(type: T) => type.nullable().transform((value) => value ?? undefined);

/** The stable id of a file or a dataset. */
export const idRow = z.object({ stable_id: z.string() });

/** Sorts before the id of every row (RFC 9562 § 5.9). */
export const nilUuid = '00000000-0000-0000-0000-000000000000';

/**
 * Most bytes of a page's texts: a result of the Data API has at most 1 MiB, and a path may have any length. Each row
 * also counts `rowOverhead`, which the Data API writes around its values.
 */
const pageBytes = 500_000;
const rowOverhead = 256;

/**
 * A statement for the first rows of `page`, as many as a result of the Data API holds, and at least one if there is any. Each
 * says in `page_rows` how many `page` has.
 * @param page an ordered query
 * @param columns.order expression over the page's columns for the same order
 * @param columns.texts expression for all long texts of a row together, never null
 */
export function boundedPage(
  page: string,
  { order, texts }: { readonly order: string; readonly texts: string },
): string {
  return `select *
    from (
      select page.*, row_number() over in_order as position, count(*) over () as page_rows,
        sum(octet_length(${texts}) + ${rowOverhead}) over in_order as page_bytes
      from (${page}) page
      window in_order as (order by ${order})
    ) measured
    where position = 1 or page_bytes <= ${pageBytes}
    order by position`;
}
