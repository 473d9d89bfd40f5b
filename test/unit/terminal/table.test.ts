import { expect, test } from 'vitest';
import { formatTable } from '../../../lib/terminal/table.ts';

test('a table may have more rows than a function takes arguments', () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => [`${index}`, 'x']);
  const lines = formatTable([{ title: 'NAME' }, { title: 'KIND' }], rows, undefined);
  expect(lines).toHaveLength(200_001);
  expect(lines.at(-1)).toBe('199999  x');
});
