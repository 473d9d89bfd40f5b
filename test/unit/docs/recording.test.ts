import { readFileSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { picturePath, recordingSvg, shotsOf } from '../../recording/svg.ts';

const shots = [
  { command: 'data-out list', printed: 'NAME & <SIZE>\n\n  &amp;' },
  { command: 'data-out verify data', printed: `${'a'.repeat(250)}\nshort` },
];
const svg = recordingSvg(shots);

test('what a recording shows can be read back: blank lines, long ones, and characters of XML', () => {
  expect(shotsOf(svg)).toEqual(shots);
});

test('a line longer than 132 columns goes on in the next row, as on a terminal', () => {
  const rows = [...svg.matchAll(/>(a+)<\/text>/g)].map(([, text = '']) => text.length);
  expect(rows).toEqual([132, 118]);
});

test('lines appear one after the other', () => {
  const delays = [...svg.matchAll(/animation-delay:([\d.]+)s/g)].map(([, seconds]) => Number(seconds));
  expect(delays).toEqual(delays.toSorted((a, b) => a - b));
  expect(new Set(delays).size).toBeGreaterThan(5);
});

test('the picture of README.md is small, has a title, loads and runs nothing, and stands still for those who want that', () => {
  const picture = readFileSync(picturePath, 'utf8');
  expect(statSync(picturePath).size).toBeLessThan(200_000);
  expect(picture).toMatch(/<title id="title">.+<\/title>/);
  expect(picture).not.toMatch(/<script|\bon\w+=|href|url\(|@import/);
  const [, moving = ''] = /@media\(prefers-reduced-motion:no-preference\)\{(.*)\}$/m.exec(picture) ?? [];
  expect(moving).toContain('animation:');
  expect(picture.replace(moving, '')).not.toContain('animation:');
});
