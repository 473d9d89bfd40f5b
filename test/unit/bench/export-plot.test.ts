import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Compared, Cost } from '../../bench/export.ts';
import { exportPlot, figuresFile, plotFile } from '../../bench/export-plot.ts';

const cost: Cost = { milliseconds: 1, cpuMilliseconds: 10, received: 1000, sent: 1, peakMemory: undefined, calls: 1 };

test('the committed picture shows the committed figures', () => {
  expect(readFileSync(plotFile, 'utf8')).toBe(exportPlot(JSON.parse(readFileSync(figuresFile, 'utf8')) as Compared[]));
});

test('both panels have a point for each size and way, more bytes stand higher, and larger files further right', () => {
  const plot = exportPlot([
    { plaintextBytes: 1000, containerBytes: 1, staged: cost, straight: cost },
    {
      plaintextBytes: 1e9,
      containerBytes: 1,
      staged: { ...cost, received: 1e6 },
      straight: { ...cost, received: 1e9 },
    },
  ]);
  const points = [...plot.matchAll(/<circle class="(\w+)" cx="([\d.]+)" cy="([\d.]+)" r="3"/g)].map(
    ([, name, x, y]) => [name, Number(x), Number(y)] as const,
  );
  expect(points.map(([name]) => name)).toEqual([
    'straight',
    'straight',
    'staged',
    'staged',
    'straight',
    'straight',
    'staged',
    'staged',
  ]);
  const [small, straight, , staged] = points;
  expect(straight?.[1]).toBeGreaterThan(small?.[1] ?? Number.NaN);
  expect(straight?.[2]).toBeLessThan(staged?.[2] ?? Number.NaN);
  expect(staged?.[2]).toBeLessThan(small?.[2] ?? Number.NaN);
});
