import { isCancel } from '@clack/core';

/** How a prompt is given up. */
export interface Interruption {
  readonly signal: AbortSignal;
  /** Called when the person presses Ctrl-C, which is a key and no signal while a terminal is read key by key. */
  readonly interrupt: () => void;
}

/** What was typed. @throws what `interrupt` made the reason of `signal` */
export async function answerTo(
  prompt: { prompt(): Promise<string | symbol | undefined> },
  { signal, interrupt }: Interruption,
): Promise<string> {
  const answer = await prompt.prompt();
  if (isCancel(answer)) interrupt();
  signal.throwIfAborted();
  return typeof answer === 'string' ? answer : '';
}
