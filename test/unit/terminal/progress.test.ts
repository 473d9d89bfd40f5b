import { afterEach, describe, expect, test, vi } from 'vitest';
import { createProgress } from '../../../lib/terminal/progress.ts';
import { terminalOf } from '../../helpers/cli-run.ts';
import { makeTerminal } from '../../helpers/ops-world.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('progress', () => {
  const MiB = 1024 * 1024;

  function progressOn(choices: Parameters<typeof makeTerminal>[0]) {
    const clock = { ms: 1_000_000 };
    const { terminal, said } = makeTerminal({ ...choices, now: () => new Date(clock.ms) });
    /** Calls `each` after every one of so many pauses. */
    const steps = (count: number, ms: number, each: (step: number) => void) => {
      for (let step = 1; step <= count; step += 1) {
        clock.ms += ms;
        each(step);
      }
    };
    return { progress: createProgress(terminal), said, clock, steps };
  }

  /** What is on the screen after these bytes: the last frame. */
  function lastFrame(text: string): string[] {
    const [frame = ''] = text.split('\u001b[?2026h').slice(-1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences that move the cursor
    const plain = frame.replaceAll(/\u001b\[[?\d;]*[A-Za-z]/g, '');
    return plain.split('\n').filter((line) => line !== '');
  }

  test.each([200, 80, 40, 20, 12])('no line is wider than a terminal of %i columns', (width) => {
    const { progress, said, steps } = progressOn(terminalOf(width));
    const tasks = ['a very long name of a file that goes on and on.bam.c4gh', '标本-标本-标本-标本-标本.bam', 'x'].map(
      (name) => progress.task(name, 10 * MiB),
    );
    steps(10, 500, (step) => {
      for (const task of tasks) task.set(step * MiB);
    });
    const lines = lastFrame(said.stderr);
    expect(lines).toHaveLength(4);
    // Wide characters take two cells.
    const cells = (line: string) => [...line].reduce((sum, each) => sum + (each > '\u2e80' ? 2 : 1), 0);
    for (const line of lines) expect(cells(line), line).toBeLessThan(width);
  });

  /** Three files on a terminal: one of an earlier run, one with wide characters, one of unknown size. */
  function threeFiles(columns: number): string[] {
    const { progress, said, steps } = progressOn(terminalOf(columns));
    progress.expect(400 * MiB, 5);
    const sample = progress.task('EGAF00000000001-sample-of-a-tumour.bam.c4gh', 200 * MiB, 100 * MiB);
    const wide = progress.task('EGAF00000000002-标本-🧬-q\u0303tq\u0303.bam.c4gh', 100 * MiB);
    const piped = progress.task('standard input', undefined);
    steps(40, 100, () => {
      sample.add(MiB / 2);
      wide.add(MiB / 100);
      piped.add(1024);
    });
    return lastFrame(said.stderr);
  }

  describe('a counter', () => {
    /** 312 of 1001 in ten seconds. */
    function counted(choices: Parameters<typeof makeTerminal>[0], withFile = false) {
      const { progress, said, clock, steps } = progressOn(choices);
      const counter = progress.counter('reading receipts', 1001);
      const file = withFile ? progress.task('a.bam.c4gh', 100 * MiB) : undefined;
      steps(104, 100, () => {
        counter.add(3);
        file?.add(MiB / 10);
      });
      return { said, counter, file, clock };
    }

    test('says how many are done, with their rate, below the files', () => {
      expect(lastFrame(counted(terminalOf(80)).said.stderr)).toEqual(['reading receipts 312/1001 (30/s)']);
      expect(lastFrame(counted(terminalOf(80), true).said.stderr)).toEqual([
        expect.stringMatching(/^a\.bam\.c4gh .* 10 % /),
        'reading receipts 312/1001 (30/s)',
      ]);
    });
  });

  test('between two small files the count stays on the screen', () => {
    const { progress, said, clock, steps } = progressOn(terminalOf(80));
    progress.expect(500 * MiB, 500);
    steps(123, 100, (file) => {
      const task = progress.task(`sample-${file}.bam`, MiB);
      task.add(MiB);
      clock.ms += 100;
      task.end();
    });
    expect(lastFrame(said.stderr).at(-1)).toMatch(/^123 of 500 files, 123\.0 MiB of 500\.0 MiB \(24 %\)/);
  });

  test.each([
    [
      120,
      [
        'EGAF00000000001-sample-of-a-tumour.bam.c4gh  [=========      ]   60 %     5.0 MiB/s    16 s left',
        'EGAF00000000002-标本-🧬-q\u0303tq\u0303.bam.c4gh         [               ]    0 %    99.8 KiB/s  17 min left',
        'standard input                               39.0 KiB     9.8 KiB/s',
        '0 of 5 files, 120.4 MiB of 400.0 MiB (30 %), 5.1 MiB/s, 55 s left',
      ],
    ],
    [
      80,
      [
        'EGAF00000000001…tumour.bam.c4gh  [======    ]   60 %     5.0 MiB/s    16 s left',
        'EGAF00000000002…🧬-q\u0303tq\u0303.bam.c4gh  [          ]    0 %    99.8 KiB/s  17 min left',
        'standard input                               39.0 KiB     9.8 KiB/s',
        '0 of 5 files, 120.4 MiB of 400.0 MiB (30 %), 5.1 MiB/s, 55 s left',
      ],
    ],
    [
      40,
      [
        '…1-sam…umour…  60 %    5.0 MiB/s   16 s',
        '…2-标本…-q\u0303tq\u0303…   0 %   99.8 KiB/s 17 min',
        'stand…nput 39.0 KiB    9.8 KiB/s',
        '30 %, 5.1 MiB/s, 55 s left',
      ],
    ],
  ])('%i columns', (columns, lines) => expect(threeFiles(columns)).toEqual(lines));

  test.each([1, 2, 3])('20 columns and %i rows', (rows) => {
    const { progress, said, steps } = progressOn({ ...terminalOf(20), size: () => ({ columns: 20, rows }) });
    const tasks = ['👩\u200d🔬-sample.bam.c4gh', 'other.bam.c4gh'].map((name) => progress.task(name, 10 * MiB));
    steps(30, 100, () => {
      for (const task of tasks) task.add(MiB / 10);
    });
    expect(lastFrame(said.stderr)).toEqual(
      [[], ['29 %, 7 s left'], ['👩\u200d🔬-samp….c4gh  30 %', '29 %, 7 s left']][rows - 1],
    );
    progress.end();
  });

  test('without a terminal a plain line every ten seconds sums up all files', () => {
    const { progress, said, clock } = progressOn({});
    progress.expect(4 * MiB, 4);
    const [first, second] = [progress.task('one', MiB), progress.task('two', MiB)];
    clock.ms += 9_999;
    first!.set(MiB);
    expect(said.stderr).toBe('');
    clock.ms += 1;
    first!.end();
    second!.set(MiB);
    expect(said.stderr).toBe('1 of 4 files, 1.0 MiB of 4.0 MiB (25 %), 102.4 KiB/s, 30 s left\n');
    expect(said.stderr).not.toContain('\u001b');
  });

  test('the speed is that of the last 15 seconds, and time left follows it', () => {
    const { progress, said, steps } = progressOn({});
    const task = progress.task('one', 100 * MiB);
    steps(60, 1000, (second) => task.add(second <= 30 ? 2 * MiB : MiB / 4));
    expect(said.stderr.split('\n')).toEqual([
      'one: 20.0 MiB of 100.0 MiB (20 %), 2.0 MiB/s, 40 s left',
      'one: 40.0 MiB of 100.0 MiB (40 %), 2.0 MiB/s, 30 s left',
      'one: 60.0 MiB of 100.0 MiB (60 %), 2.0 MiB/s, 20 s left',
      'one: 62.5 MiB of 100.0 MiB (62 %), 853.3 KiB/s, 45 s left',
      'one: 65.0 MiB of 100.0 MiB (65 %), 256.0 KiB/s, 2 min left',
      'one: 67.5 MiB of 100.0 MiB (67 %), 256.0 KiB/s, 2 min left',
      '',
    ]);
  });

  test('while no byte comes, the speed falls to nothing', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { progress, said, clock } = progressOn(terminalOf(60));
    const seconds = (count: number, each = () => {}) => {
      for (let second = 1; second <= count; second += 1) {
        clock.ms += 1000;
        each();
        vi.advanceTimersByTime(1000);
      }
    };
    const task = progress.task('sample.bam', 100 * MiB);
    seconds(10, () => task.add(MiB));
    expect(lastFrame(said.stderr)).toEqual(['sample.bam  [=      ]   10 %     1.0 MiB/s    90 s left']);
    // Bytes that come right after others are part of the last measurement.
    clock.ms += 100;
    task.add(MiB / 2);
    seconds(16);
    expect(lastFrame(said.stderr)).toEqual(['sample.bam  [=      ]   10 %         0 B/s']);
    progress.end();
    const { length } = said.stderr;
    seconds(20);
    expect(said.stderr).toHaveLength(length);
  });

  test('short work says nothing, on a terminal neither', () => {
    for (const choices of [{}, terminalOf(80)]) {
      const { progress, said, clock } = progressOn(choices);
      const task = progress.task('big.bam', 10);
      clock.ms += 499;
      task.add(10);
      task.end();
      progress.end();
      expect(said.stderr).toBe('');
    }
  });
});
