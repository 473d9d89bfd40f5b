import * as z from 'zod';

/** Most rows of one result. Identifiers have at most 256 characters, so 1,000 rows stay far below its limit of 1 MiB. */
export const pageSize = 1000;

/** A size in bytes, a number of rows or an id. The Data API answers 64-bit integers as text. */
export const count = z.coerce.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);

/** A time as ISO 8601 with milliseconds. A statement with it takes the parameter {@link timeFormat}. */
export const isoTime = (column: string) => `to_char(${column} at time zone 'UTC', :time_format)`;

/** The format is a parameter, because the Data API might take colons in a statement for parameters. */
export const timeFormat = { time_format: 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"' };

/** The stable id of a file or a dataset. */
export const idRow = z.object({ stable_id: z.string() });

/** Sorts before the id of every row (RFC 9562 § 5.9). */
export const nilUuid = '00000000-0000-0000-0000-000000000000';
