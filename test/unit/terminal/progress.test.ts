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
    const plain = frame.replaceAll(/\r|\u001b\[[?\d;]*[A-Za-z]/g, '');
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
