import { ClientError } from '../client/errors.ts';
import type { Terminal } from '../terminal/terminal.ts';

/**
 * A secret typed by a person, also while standard input is data.
 * @param remedy what to do where nobody can be asked
 */
export async function askSecret(terminal: Terminal, question: string, remedy: string): Promise<string> {
  if (!terminal.askAside) {
    throw new ClientError('usage', `there is no terminal to ask on: ${question.replace(/:\s*$/, '')}`, { remedy });
  }
  return await terminal.askAside(question);
}

/** A new secret, typed twice. @throws ClientError `usage` when the two differ */
export async function askNewSecret(terminal: Terminal, what: string, remedy: string): Promise<string> {
  const secret = await askSecret(terminal, `${what}: `, remedy);
  if (secret !== '' && (await askSecret(terminal, `${what}, again: `, remedy)) !== secret) {
    throw new ClientError('usage', 'the two were not the same');
  }
  return secret;
}
