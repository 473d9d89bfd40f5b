/** A table in Markdown. Rows that differ in nothing but their first cell share one. */
export function markdownTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const names = new Map<string, string[]>();
  for (const [name = '', ...cells] of rows) {
    const key = cells.join(' | ');
    names.set(key, [...(names.get(key) ?? []), name]);
  }
  const lines = [titles, titles.map(() => '---'), ...[...names].map(([cells, alike]) => [alike.join(', '), cells])];
  return lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}
