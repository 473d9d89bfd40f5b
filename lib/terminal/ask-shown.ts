import type { Readable, Writable } from 'node:stream';
import { isCancel, TextPrompt } from '@clack/core';

/**
 * One line from a terminal, shown as it is typed.
 * @param interrupt called when the person presses Ctrl-C, which is a key and no signal while a terminal is read key by key
 * @throws what `interrupt` made the reason of `signal`
 */
export async function askShown(
  question: string,
  terminal: { readonly input: Readable; readonly output: Writable },
  { signal, interrupt }: { readonly signal: AbortSignal; readonly interrupt: () => void },
): Promise<string> {
  const { input, output } = terminal;
  const prompt = new TextPrompt({
    input,
    output,
    signal,
    render() {
      return `${question}${this.state === 'active' ? this.userInputWithCursor : this.userInput}`;
    },
  });
  const answer = await prompt.prompt();
  if (isCancel(answer)) interrupt();
  signal.throwIfAborted();
  return typeof answer === 'string' ? answer : '';
}
