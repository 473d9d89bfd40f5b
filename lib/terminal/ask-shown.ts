import type { Readable, Writable } from 'node:stream';
import { TextPrompt } from '@clack/core';
import { answerTo, type Interruption } from './answer.ts';

/**
 * One line from a terminal, shown as it is typed.
 * @throws as {@link answerTo}
 */
export async function askShown(
  question: string,
  terminal: { readonly input: Readable; readonly output: Writable },
  interruption: Interruption,
): Promise<string> {
  const { input, output } = terminal;
  const { signal } = interruption;
  const prompt = new TextPrompt({
    input,
    output,
    signal,
    render() {
      return `${question}${this.state === 'active' ? this.userInputWithCursor : this.userInput}`;
    },
  });
  return await answerTo(prompt, interruption);
}
