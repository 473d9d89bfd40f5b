import stringWidth from 'string-width';

/** A column of a table. */
export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** Between two columns. */
const gap = '  ';

/**
 * Rows under their titles, in columns. When the widest row does not fit, each row becomes a block: its first cell on a
 * line, the others below it. No cell is cut, because users copy names.
 * @param width columns of the terminal; `undefined`: no limit
 */
export function formatTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number | undefined,
): string[] {
  const titles = columns.map(({ title }) => title);
  const widths = columns.map((_, index) => Math.max(...[titles, ...rows].map((row) => stringWidth(row[index] ?? ''))));
  const needed = widths.reduce((sum, each) => sum + each + gap.length, -gap.length);
  if (width !== undefined && needed > width) return stacked(columns, rows);
  const line = (row: readonly string[]) =>
    columns
      .map(({ align }, index) => padded(row[index] ?? '', widths[index] ?? 0, align))
      .join(gap)
      .trimEnd();
  return [titles, ...rows].map(line);
}

function stacked(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  return rows.flatMap(([first = '', ...others]) => [
    first,
    ...others.flatMap((cell, index) => (cell === '' ? [] : [`  ${columns[index + 1]?.title ?? ''}: ${cell}`])),
  ]);
}

function padded(text: string, width: number, align: Column['align'] = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return align === 'left' ? text + space : space + text;
}
