/**
 * What a terminal shows after all of `written`: prompts and progress draw lines again and again. Knows the control
 * sequences that the commands of this project use (ECMA-48 § 8.3: CUU, CUD, CUF, CUB, CHA, ED, EL), and ignores others, and colours.
 */
export function screenOf(written: string): string {
  const lines: string[][] = [[]];
  let row = 0;
  let column = 0;
  const lineAt = (index: number) => {
    while (lines.length <= index) lines.push([]);
    return lines[index] as string[];
  };
  const move: Readonly<Record<string, (count: number, raw: string) => void>> = {
    A: (count) => (row = Math.max(0, row - count)),
    B: (count) => (row += count),
    C: (count) => (column += count),
    D: (count) => (column = Math.max(0, column - count)),
    G: (count) => (column = count - 1),
    J: () => {
      lineAt(row).splice(column);
      lines.splice(row + 1);
    },
    K: (_, raw) => {
      lineAt(row).splice(raw === '2' ? 0 : column);
    },
  };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal receives
  for (const [piece, raw = '', name = ''] of written.matchAll(/\x1b\[([0-9;?]*)([A-Za-z])|\x1b.|[^\x1b]/gsu)) {
    if (piece.length > 1 && piece.startsWith('\x1b')) move[name]?.(Number(raw || 1), raw);
    else if (piece === '\n') row += 1;
    else if (piece === '\r') column = 0;
    else if (piece === '\b') column = Math.max(0, column - 1);
    else if (piece >= ' ') {
      const line = lineAt(row);
      while (line.length < column) line.push(' ');
      line[column] = piece;
      column += 1;
    }
  }
  return lines
    .map((line) => line.join('').trimEnd())
    .join('\n')
    .trimEnd();
}
