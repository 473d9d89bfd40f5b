import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { InterruptedError } from '../../../lib/terminal/errors.ts';
import { askHidden } from '../../../lib/terminal/prompts.ts';

/** A terminal without input yet. */
function fakeTerminal() {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const output = new PassThrough();
  let shown = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const controller = new AbortController();
  const interrupt = () => controller.abort(new InterruptedError());
  const answer = askHidden('Passphrase: ', { input, output }, { signal: controller.signal, interrupt });
  return { input, answer, shown: () => shown };
}

test('what is typed is the answer, and is not shown: neither it nor how long it is', async () => {
  const { input, answer, shown } = fakeTerminal();
  for (const key of ['h', 'e', 'm', 'x', '\u007f', 'm', 'e', 'l', 'i', 'g', ' ', 'ø', '\r']) input.write(key);
  expect(await answer).toBe('hemmelig ø');
  expect(stripVTControlCharacters(shown()).trim()).toBe('Passphrase:');
});

test('nothing is an empty answer', async () => {
  const { input, answer } = fakeTerminal();
  input.write('\r');
  expect(await answer).toBe('');
});

test.each([
  ['Ctrl-C, a key while a terminal is read key by key,', '\u0003'],
  ['Ctrl-D on an empty line', '\u0004'],
])('%s interrupts', async (_, key) => {
  const { input, answer } = fakeTerminal();
  input.write(key);
  await expect(answer).rejects.toBeInstanceOf(InterruptedError);
});
