import { createHash } from 'node:crypto';
import * as z from 'zod';
import { limits } from '../../contract/limits.ts';
import { damaged, unavailable } from '../../errors.ts';
import { count } from '../stores/rds/columns.ts';

/** Hex characters of a header in one row: with all other columns, below the 64 KiB that a row may have. */
export const headerSlice = 32 * 1024;
/** Hex characters of the largest header. A longer column is neither read nor hashed. */
const longestHeader = 2 * limits.headerBytes;

/** What {@link wholeHeader} begins with: the first slice of the column `f.header`, its length, and a digest if it is long. */
export const headerColumns = `substring(f.header from 1 for ${headerSlice}) as header,
  length(f.header) as header_length,
  case when length(f.header) between ${headerSlice + 1} and ${longestHeader}
    then encode(sha256(convert_to(f.header, 'UTF8')), 'hex') end as header_digest`;

/** The row of {@link headerColumns}. */
export const headerRow = z.object({
  header: z.string().nullable(),
  header_length: count.nullable(),
  header_digest: z.string().nullable(),
});

/** The row of a query for one slice. */
export const sliceRow = z.object({ header: z.string().nullable() });

/**
 * The text of `sda.files.header`: the first slice, and the slices that did not fit into its row. The digest shows whether all
 * are of one header.
 *
 * @param name of the file, for errors
 * @param sliceFrom reads the slice that begins at this character, counted from 1
 */
export async function wholeHeader(
  name: string,
  { header, header_length: columnLength, header_digest: digest }: z.infer<typeof headerRow>,
  sliceFrom: (start: number) => Promise<string>,
): Promise<string> {
  const length = columnLength ?? 0;
  if (length > longestHeader) {
    throw damaged(`the header of file ${name} has ${length} hex characters, more than ${longestHeader}`);
  }
  let hex = header ?? '';
  for (let start = headerSlice + 1; start <= length; start += headerSlice) hex += await sliceFrom(start);
  if (digest !== null && createHash('sha256').update(hex).digest('hex') !== digest) {
    throw unavailable(`the header of file ${name} changed while it was read`);
  }
  return hex;
}

/** The column `sda.files.header`: hex of the whole Crypt4GH header. */
export function headerBytes(hex: string, name: string): Uint8Array {
  // Buffer.from would silently stop at the first character that is not hex.
  if (hex.length % 2 !== 0 || !/^[0-9a-f]+$/i.test(hex)) {
    throw damaged(`the header of file ${name} is not hexadecimal in the catalogue`);
  }
  return new Uint8Array(Buffer.from(hex, 'hex'));
}
