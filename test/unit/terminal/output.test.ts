import { describe, expect, test } from 'vitest';
import { formatBytes, formatDuration, jsonLine, printable } from '../../../lib/terminal/output.ts';
import { startProgress } from '../../../lib/terminal/progress.ts';
import { makeTerminal } from '../../helpers/ops-world.ts';

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [73_400_320, '70.0 MiB'],
  [1_099_511_627_776, '1.0 TiB'],
])('%i bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1500, '1.5 s'],
  [60_000, '1 min 00 s'],
  [245_000, '4 min 05 s'],
  [7_800_000, '2 h 10 min'],
])('%i milliseconds are %s', (milliseconds, text) => {
  expect(formatDuration(milliseconds)).toBe(text);
});

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

describe('a line of JSON', () => {
  test.each([
    ['C0', '\u001b[2J\n', '\\u001b[2J\\n'],
    ['DEL and C1', '\u007f\u009b2J', '\\u007f\\u009b2J'],
    ['bidi', '\u061c\u200e\u200f\u202a\u202e\u2066\u2069', '\\u061c\\u200e\\u200f\\u202a\\u202e\\u2066\\u2069'],
    ['zero width', '\u00ad\u034f\u200b\u200d\u2060\ufeff', '\\u00ad\\u034f\\u200b\\u200d\\u2060\\ufeff'],
    ['fillers and variation selectors', '\u115f\u3164\ufe0f', '\\u115f\\u3164\\ufe0f'],
    ['line separators', '\u0085\u2028\u2029', '\\u0085\\u2028\\u2029'],
    ['tags', '\u{e0001}\u{e0041}', '\\udb40\\udc01\\udb40\\udc41'],
    ['letters of any script', 'prøve 标本 😀', 'prøve 标本 😀'],
  ])('escapes what a terminal obeys or hides: %s', (_, name, escaped) => {
    const line = jsonLine({ name, [name]: [name] });
    expect(line).toBe(`{"name":"${escaped}","${escaped}":["${escaped}"]}`);
    expect(JSON.parse(line)).toEqual({ name, [name]: [name] });
  });
});

describe('progress', () => {
  function progressOf(isTerminal: boolean, total: number | undefined) {
    const clock = { ms: 0 };
    const { terminal, said } = makeTerminal({ isTerminal, now: () => new Date(clock.ms) });
    const progress = startProgress(terminal, 'big.bam', total);
    return { progress, said, clock };
  }

  test('on a terminal one line is written over, and taken away at the end', () => {
    const { progress, said, clock } = progressOf(true, 4 * 1024 * 1024);
    clock.ms = 1000;
    progress.add(1024 * 1024);
    expect(said.stderr).toBe('\rbig.bam: 1.0 MiB of 4.0 MiB (25 %), 1.0 MiB/s, 3.0 s left\u001b[K');
    progress.end();
    expect(said.stderr.endsWith('\r\u001b[K')).toBe(true);
    expect(said.stderr).not.toContain('\n');
  });

  test('elsewhere it is a plain line every ten seconds', () => {
    const { progress, said, clock } = progressOf(false, undefined);
    for (clock.ms = 1000; clock.ms <= 25_000; clock.ms += 1000) progress.add(1024);
    progress.end();
    expect(said.stderr).toBe('big.bam: 10.0 KiB, 1.0 KiB/s\nbig.bam: 20.0 KiB, 1.0 KiB/s\n');
  });

  test('short work says nothing', () => {
    const { progress, said } = progressOf(true, 10);
    progress.add(10);
    progress.end();
    expect(said.stderr).toBe('');
  });
});
