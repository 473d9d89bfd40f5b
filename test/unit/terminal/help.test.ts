import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { describe, expect, test } from 'vitest';
import { client, ops } from '../../helpers/command-lines.ts';

/** The program and every command below it that does something, as a user names them. `help` is commander's own. */
function commandsOf(program: Command, path: readonly string[] = []): (readonly string[])[] {
  const below = program.commands.flatMap((command) => commandsOf(command, [...path, command.name()]));
  return path.length === 0 || below.length === 0 ? [path, ...below] : below;
}

/** The words of a line for a shell, up to a pipe or a redirection. Quotes group words. */
function wordsOf(line: string): string[] {
  const words = line.match(/'[^']*'|"[^"]*"|[|<>()]|[^\s|<>()]+/g) ?? [];
  const end = words.findIndex((word) => /^[|<>()]$/.test(word));
  return words.slice(0, end < 0 ? undefined : end).map((word) => word.replace(/^(['"])(.*)\1$/, '$2'));
}

/** The commands of this tool in the lines of a help text below its last `Example`. */
function examplesIn(help: string, name: string): string[][] {
  const [, examples = ''] = help.split(/^Examples?:\n(?!(?:.|\n)*^Examples?:\n)/m);
  const lines = examples
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line !== '');
  // Nothing follows the examples.
  expect(lines.filter((line) => !line.startsWith('  '))).toEqual([]);
  const begins = new RegExp(`(?<![-\\w./])${name} `);
  return lines.flatMap((line) => {
    const at = line.search(begins);
    return at < 0 ? [] : [wordsOf(line.slice(at)).slice(1)];
  });
}

/** Parses as the tool does, and runs nothing. @returns the path of the command that would run */
async function parsed(program: Command, argv: readonly string[]): Promise<string[]> {
  const path: string[] = [];
  const record = (command: Command): void => {
    for (const each of command.commands) record(each);
    if (command.commands.length > 0) return;
    command.action((...given: unknown[]) => {
      for (let at = given.at(-1) as Command | null; at?.parent; at = at.parent) path.unshift(at.name());
    });
  };
  record(program);
  await program.parseAsync(argv, { from: 'user' });
  return path;
}

describe.each([client, ops])('the help of $name', async ({ name, program, run }) => {
  test.each(commandsOf(await program()).map((path) => [path.join(' '), path] as const))(
    'ends with examples that can be run: %s',
    async (_, path) => {
      const { stdout } = await run([...path, '--help']);
      const examples = examplesIn(stdout, name);
      const commands = await Promise.all(examples.map((argv) => program().then((made) => parsed(made, argv))));
      const own = commands.filter((command) => path.every((word, index) => word === command[index]));
      expect(own.length, examples.join('\n')).toBeGreaterThan(0);
    },
  );
});
