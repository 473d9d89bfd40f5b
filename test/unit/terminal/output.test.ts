import { describe, expect, test } from 'vitest';
import {
  type Columns,
  createOutput,
  createStyle,
  formatTable,
  jsonLine,
  printable,
} from '../../../lib/terminal/output.ts';
import { terminalOf } from '../../helpers/cli-run.ts';
import { makeTerminal } from '../../helpers/ops-world.ts';

test.each([
  ['sample.bam', 'sample.bam'],
  ['prøve 1.bam', 'prøve 1.bam'],
  ['a\u001b[2Jb', 'a\\u{1b}[2Jb'],
  ['a\nb', 'a\\u{a}b'],
  ['a\u202eb', 'a\\u{202e}b'],
  ['a\u2028b', 'a\\u{2028}b'],
  ['a\u3164b', 'a\\u{3164}b'],
  ['a\u{e0041}b', 'a\\u{e0041}b'],
])('%j is shown as %j', (text, shown) => {
  expect(printable(text)).toBe(shown);
});

test.each([
  ['C0', '\u001b[2J\n', '\\u001b[2J\\n'],
  ['DEL and C1', '\u007f\u009b2J', '\\u007f\\u009b2J'],
  ['bidi', '\u061c\u200e\u200f\u202a\u202e\u2066\u2069', '\\u061c\\u200e\\u200f\\u202a\\u202e\\u2066\\u2069'],
  ['zero width', '\u00ad\u034f\u200b\u200d\u2060\ufeff', '\\u00ad\\u034f\\u200b\\u200d\\u2060\\ufeff'],
  ['fillers and variation selectors', '\u115f\u3164\ufe0f', '\\u115f\\u3164\\ufe0f'],
  ['line separators', '\u0085\u2028\u2029', '\\u0085\\u2028\\u2029'],
  ['tags', '\u{e0001}\u{e0041}', '\\udb40\\udc01\\udb40\\udc41'],
  ['letters of any script', 'prøve 标本 😀', 'prøve 标本 😀'],
])('a line of JSON escapes what a terminal obeys or hides: %s', (_, name, escaped) => {
  const line = jsonLine({ name, [name]: [name] });
  expect(line).toBe(`{"name":"${escaped}","${escaped}":["${escaped}"]}`);
  expect(JSON.parse(line)).toEqual({ name, [name]: [name] });
});

const columns: Columns<{ readonly name: string }> = [
  ['NAME', ({ name }) => name],
  ['SIZE', () => undefined, 'right'],
];
const rows = [
  ['sample.bam', '1.0 MiB'],
  ['标本.bam', '12 B'],
];

describe('a table', () => {
  test('aligns cells, those of wide characters too', () => {
    expect(formatTable(columns, rows, undefined)).toEqual([
      'NAME           SIZE',
      'sample.bam  1.0 MiB',
      '标本.bam       12 B',
    ]);
  });

  test('that does not fit is shown below one another, and nothing is cut', () => {
    expect(formatTable(columns, rows, 15)).toEqual(['sample.bam', '  SIZE: 1.0 MiB', '标本.bam', '  SIZE: 12 B']);
  });

  test('keeps most of its columns, and puts the others below each row', () => {
    const wide = [...columns, ['STATE', undefined], ['PATH', undefined]] as const;
    const more = rows.map((row, index) => [...row, 'staged', index === 0 ? 'runs/sample of a tumour.bam' : '']);
    expect(formatTable(wide, more, 30, (line) => `*${line}*`)).toEqual([
      '*NAME           SIZE  STATE*',
      'sample.bam  1.0 MiB  staged',
      '  PATH: runs/sample of a tumour.bam',
      '标本.bam       12 B  staged',
    ]);
    expect(formatTable(wide, more, 26)[0]).toBe('sample.bam');
  });

  test('is one JSON object per line with --json, whatever the terminal', () => {
    const { terminal, said } = makeTerminal(terminalOf(10));
    createOutput(terminal, { json: true, quiet: false }).table(columns, [{ name: 'a\nb' }]);
    expect(said.stdout).toBe('{"name":"a\\nb"}\n');
  });

  test('has no cell that gives a terminal orders', () => {
    const { terminal, said } = makeTerminal({});
    createOutput(terminal, { json: false, quiet: false }).table(columns, [{ name: '\u009b2J' }]);
    expect(said.stdout).toBe('NAME      SIZE\n\\u{9b}2J\n');
  });
});

describe('colours', () => {
  const bold = (env: Record<string, string>, isTerminal: boolean) => createStyle({ env }, isTerminal).strong('text');

  test('are for terminals', () => {
    expect(bold({}, true)).toBe('\u001b[1mtext\u001b[22m');
    expect(bold({}, false)).toBe('text');
  });
});

test('--quiet leaves results and warnings', () => {
  const { terminal, said } = makeTerminal();
  const output = createOutput(terminal, { json: false, quiet: true });
  output.note('a remark');
  output.warn('a warning');
  output.result({}, 'a result');
  expect(said).toEqual({ stdout: 'a result\n', stderr: 'warning: a warning\n' });
});
