import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { InterruptedError } from '../../../lib/terminal/errors.ts';
import { askShown } from '../../../lib/terminal/prompts.ts';

/** A person who types on a terminal of 80 columns. */
function person() {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
  let shown = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  return { input, output, shown: () => shown };
}

describe('askShown', () => {
  test('returns what is typed, and shows it', async () => {
    const { input, output, shown } = person();
    const signal = new AbortController().signal;
    const answer = askShown('Which? ', { input, output }, { signal, interrupt: () => {} });
    input.write('proxy-1.2.0');
    input.write('\r');
    expect(await answer).toBe('proxy-1.2.0');
    expect(shown()).toContain('Which? proxy-1.2.0');
  });

  test.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D on an empty line', '\u0004'],
  ])('%s interrupts', async (_, key) => {
    const { input, output } = person();
    const interrupted = new AbortController();
    const interrupt = () => interrupted.abort(new InterruptedError());
    const answer = askShown('Which? ', { input, output }, { signal: interrupted.signal, interrupt });
    input.write(key);
    await expect(answer).rejects.toBeInstanceOf(InterruptedError);
  });
});
