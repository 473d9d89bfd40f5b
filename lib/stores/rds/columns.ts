import * as z from 'zod';

/** Most rows of one result. Identifiers have at most 256 characters, so 1,000 rows stay far below its limit of 1 MiB. */
export const pageSize = 1000;

/** A size in bytes, a number of rows or an id. The Data API answers 64-bit integers as text. */
export const count = z.coerce.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);

/** The stable id of a file or a dataset. */
export const idRow = z.object({ stable_id: z.string() });
