import stringWidth from 'string-width';

/** A column of a table. */
export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** Between two columns. */
const gap = '  ';

/**
 * Rows under their titles, in columns. When a row does not fit, its last cells go below it, each with its title. If that would
 * be half of them or more, all but the first go there. No cell is cut, because users copy names.
 * @param width columns of the terminal; `undefined`: no limit
 * @param strong makes the line of titles stand out
 */
export function formatTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number | undefined,
  strong: (line: string) => string = (line) => line,
): string[] {
  const titles = columns.map(({ title }) => title);
  // A call of Math.max with an argument for each row fails when there are many.
  const widths = columns.map(({ title }, index) =>
    rows.reduce((widest, row) => Math.max(widest, stringWidth(row[index] ?? '')), stringWidth(title)),
  );
  const fitting = width === undefined ? columns.length : countFitting(widths, width);
  const beside = fitting > columns.length / 2 ? fitting : 1;
  const line = (row: readonly string[]) =>
    columns
      .slice(0, beside)
      .map(({ align }, index) => padded(row[index] ?? '', widths[index] ?? 0, align))
      .join(gap)
      .trimEnd();
  const below = (row: readonly string[]) =>
    columns.slice(beside).flatMap(({ title }, index) => {
      const cell = row[beside + index] ?? '';
      return cell === '' ? [] : [`  ${title}: ${cell}`];
    });
  const isTable = beside > 1 || columns.length === 1;
  return [...(isTable ? [strong(line(titles))] : []), ...rows.flatMap((row) => [line(row), ...below(row)])];
}

/** How many of the first columns fit into that width. */
function countFitting(widths: readonly number[], width: number): number {
  let needed = -gap.length;
  const first = widths.findIndex((each) => {
    needed += each + gap.length;
    return needed > width;
  });
  return first < 0 ? widths.length : first;
}

function padded(text: string, width: number, align: Column['align'] = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return align === 'left' ? text + space : space + text;
}
