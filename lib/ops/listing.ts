import type { Output } from '../terminal/output.ts';
import type { Column } from '../terminal/table.ts';

/**
 * Shows rows as a table, whose widths need all of them; with `--json` each row as it comes.
 * @param none remark when there is no row
 */
export async function showRows<T extends object>(
  output: Output,
  columns: readonly Column[],
  rows: AsyncIterable<T>,
  { cells, none }: { readonly cells: (row: T) => readonly string[]; readonly none: string },
): Promise<void> {
  const held: T[] = [];
  let count = 0;
  for await (const row of rows) {
    count += 1;
    if (output.json) output.result(row, '');
    else held.push(row);
  }
  if (held.length > 0) output.table(columns, held, cells);
  if (count === 0) output.note(none);
}
