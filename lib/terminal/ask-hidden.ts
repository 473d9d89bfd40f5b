import type { Readable, Writable } from 'node:stream';
import { isCancel, PasswordPrompt } from '@clack/core';

/**
 * One line from a terminal, not echoed: nothing shows how long it is.
 * @param interrupt called when the person presses Ctrl-C, which is a key and no signal while a terminal is read key by key
 * @throws what `interrupt` made the reason of `signal`
 */
export async function askHidden(
  question: string,
  terminal: { readonly input: Readable; readonly output: Writable },
  { signal, interrupt }: { readonly signal: AbortSignal; readonly interrupt: () => void },
): Promise<string> {
  const { input, output } = terminal;
  const prompt = new PasswordPrompt({ input, output, signal, mask: '', render: () => question });
  const answer = await prompt.prompt();
  if (isCancel(answer)) interrupt();
  signal.throwIfAborted();
  return typeof answer === 'string' ? answer : '';
}
