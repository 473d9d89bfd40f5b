import type { Readable, Writable } from 'node:stream';
import { isCancel, PasswordPrompt, TextPrompt } from '@clack/core';
import { UsageError } from './errors.ts';
import type { Terminal } from './terminal.ts';

interface Keyboard {
  readonly input: Readable;
  readonly output: Writable;
}

/** How a prompt ends early. */
export interface Interruption {
  readonly signal: AbortSignal;
  /** Called for Ctrl-C, and for Ctrl-D on an empty line. While a terminal is read key by key, Ctrl-C is a key, not a signal. */
  readonly interrupt: () => void;
}

/** Ctrl-D. */
const endOfTransmission = '\u0004';

/** One line from a terminal, without an echo: not even its length shows. @throws the reason of the signal */
export async function askHidden(question: string, keyboard: Keyboard, interruption: Interruption): Promise<string> {
  const { signal } = interruption;
  const prompt = new PasswordPrompt({ ...keyboard, signal, mask: '', render: () => question });
  return await answerTo(prompt, interruption);
}

/** One line from a terminal, shown as it is typed. @throws the reason of the signal */
export async function askShown(question: string, keyboard: Keyboard, interruption: Interruption): Promise<string> {
  const prompt = new TextPrompt({
    ...keyboard,
    signal: interruption.signal,
    render() {
      return `${question}${this.state === 'active' ? this.userInputWithCursor : this.userInput}`;
    },
  });
  return await answerTo(prompt, interruption);
}

async function answerTo(prompt: PasswordPrompt | TextPrompt, { signal, interrupt }: Interruption): Promise<string> {
  // On an empty line Ctrl-D closes the input, and no answer can come.
  prompt.on('key', (character) => {
    if (character === endOfTransmission && prompt.userInput === '') interrupt();
  });
  const answer = await prompt.prompt();
  if (isCancel(answer)) interrupt();
  signal.throwIfAborted();
  return typeof answer === 'string' ? answer : '';
}

/** A secret typed by a person, also while standard input is data. @throws UsageError with `remedy` without a terminal */
export async function askSecret(terminal: Terminal, question: string, remedy: string): Promise<string> {
  const ask = terminal.ask ?? terminal.askAside;
  if (!ask) throw new UsageError(`no terminal to ask on: ${question.replace(/:\s*$/, '')}`, { remedy });
  return await ask(question);
}

/** A new secret, typed twice. @throws UsageError without a terminal, or when the two differ */
export async function askNewSecret(terminal: Terminal, what: string, remedy: string): Promise<string> {
  const secret = await askSecret(terminal, `${what}: `, remedy);
  if (secret !== '' && (await askSecret(terminal, `${what}, again: `, remedy)) !== secret) {
    throw new UsageError('the two were not the same', { remedy: 'Type the same both times.' });
  }
  return secret;
}

/** Whether a person typed `expected`, ignoring spaces around it; `undefined` without a terminal. */
export async function confirm(terminal: Terminal, question: string, expected: string): Promise<boolean | undefined> {
  return terminal.askShown && (await terminal.askShown(question)).trim() === expected;
}
