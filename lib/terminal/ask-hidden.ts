import type { Readable, Writable } from 'node:stream';
import { PasswordPrompt } from '@clack/core';
import { answerTo, type Interruption } from './answer.ts';

/**
 * One line from a terminal, not echoed: nothing shows how long it is.
 * @throws as {@link answerTo}
 */
export async function askHidden(
  question: string,
  terminal: { readonly input: Readable; readonly output: Writable },
  interruption: Interruption,
): Promise<string> {
  const { input, output } = terminal;
  const { signal } = interruption;
  const prompt = new PasswordPrompt({ input, output, signal, mask: '', render: () => question });
  return await answerTo(prompt, interruption);
}
