import { describe, expect, test } from 'vitest';
import { createProgress } from '../../../lib/terminal/progress.ts';
import { terminalOf } from '../../helpers/cli-run.ts';
import { makeTerminal } from '../../helpers/ops-world.ts';

describe('progress', () => {
  const MiB = 1024 * 1024;

  function progressOn(choices: Parameters<typeof makeTerminal>[0]) {
    const clock = { ms: 1_000_000 };
    const { terminal, said } = makeTerminal({ ...choices, now: () => new Date(clock.ms) });
    return { progress: createProgress(terminal), said, clock };
  }

  /** What is on the screen after these bytes: the last frame. */
  function lastFrame(text: string): string[] {
    const [frame = ''] = text.split('\u001b[?2026h').slice(-1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences that move the cursor
    const plain = frame.replaceAll(/\u001b\[[?\d;]*[A-Za-z]/g, '');
    return plain.split('\n').filter((line) => line !== '');
  }

  test.each([200, 80, 40, 20, 12])('no line is wider than a terminal of %i columns', (width) => {
    const { progress, said, clock } = progressOn(terminalOf(width));
    const tasks = ['a very long name of a file that goes on and on.bam.c4gh', '标本-标本-标本-标本-标本.bam', 'x'].map(
      (name) => progress.task(name, 10 * MiB),
    );
    for (let step = 1; step <= 10; step += 1) {
      clock.ms += 500;
      for (const task of tasks) task.set(step * MiB);
    }
    const lines = lastFrame(said.stderr);
    expect(lines).toHaveLength(4);
    // Wide characters take two cells.
    const cells = (line: string) => [...line].reduce((sum, each) => sum + (each > '\u2e80' ? 2 : 1), 0);
    for (const line of lines) expect(cells(line), line).toBeLessThan(width);
  });

  test('no more lines than the terminal has', () => {
    const { progress, said, clock } = progressOn({ ...terminalOf(80), size: () => ({ columns: 80, rows: 8 }) });
    const tasks = Array.from({ length: 30 }, (_, index) => progress.task(`file ${index}`, MiB));
    clock.ms += 1000;
    tasks[0]!.add(1);
    expect(lastFrame(said.stderr).length).toBeLessThan(8);
  });

  test('what is said meanwhile stands above the bars', () => {
    const { progress, said, clock } = progressOn(terminalOf(80));
    const task = progress.task('sample.bam', 2 * MiB);
    clock.ms += 1000;
    task.add(MiB);
    progress.around(() => {
      said.stderr += 'a remark\n';
    });
    const [before = '', after = ''] = said.stderr.split('a remark\n');
    expect(before.endsWith('\u001b[?2026l')).toBe(true);
    expect(after).toContain('sample.bam');
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
    expect(said.stderr).toBe('1 of 4 files, 1.0 MiB of 4.0 MiB (25 %), 102.4 KiB/s, 30.0 s left\n');
    expect(said.stderr).not.toContain('\u001b');
  });

  test('what was there before does not count as speed', () => {
    const { progress, said, clock } = progressOn({});
    const task = progress.task('one', 4 * MiB, 2 * MiB);
    clock.ms += 10_000;
    task.add(MiB);
    expect(said.stderr).toBe('one: 3.0 MiB of 4.0 MiB (75 %), 102.4 KiB/s, 10.0 s left\n');
  });

  test('of unknown size it is a plain line without a share', () => {
    const { progress, said, clock } = progressOn({});
    const task = progress.task('big.bam', undefined);
    for (let step = 1; step <= 25; step += 1) {
      clock.ms += 1000;
      task.add(1024);
    }
    progress.end();
    expect(said.stderr).toBe('big.bam: 10.0 KiB, 1.0 KiB/s\nbig.bam: 20.0 KiB, 1.0 KiB/s\n');
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

  test('on a terminal it is taken away at the end', () => {
    const { progress, said, clock } = progressOn(terminalOf(80));
    const task = progress.task('big.bam', 2 * MiB);
    clock.ms += 1000;
    task.add(MiB);
    expect(lastFrame(said.stderr).join('\n')).toContain('big.bam');
    progress.end();
    expect(lastFrame(said.stderr).join('')).not.toContain('big.bam');
  });
});
