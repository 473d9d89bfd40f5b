import { UsageError } from '../terminal/errors.ts';
import { confirm } from '../terminal/prompts.ts';
import type { Terminal } from '../terminal/terminal.ts';

/**
 * Go on only if a person types a word.
 *
 * @param question.todo what will happen: `remove EGAF1 for good`
 * @param question.word what the person types
 * @param question.otherwise what has happened without it: `nothing was removed`
 * @param yes whether the person has agreed on the command line
 * @param refusal makes the error of a command that has codes of its own. @default - a UsageError
 * @throws UsageError
 */
export async function expectConsent(
  terminal: Terminal,
  question: { readonly todo: string; readonly word: string; readonly otherwise: string },
  yes: boolean | undefined,
  refusal: (message: string) => Error = (message) => new UsageError(message),
): Promise<void> {
  if (yes) return;
  const { todo, word, otherwise } = question;
  const agreed = await confirm(terminal, `To ${todo}, type ${word}: `, word);
  if (agreed) return;
  const why = agreed === undefined ? 'there is no terminal to ask on: add --yes' : 'not confirmed';
  throw refusal(`${why}; ${otherwise}`);
}
