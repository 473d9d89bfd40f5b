import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Terminal } from '../terminal.ts';
import { bashCompletion } from './bash.ts';
import { fishCompletion } from './fish.ts';
import { grammarOf } from './grammar.ts';
import { zshCompletion } from './zsh.ts';

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
const shells = Object.keys(scripts) as (keyof typeof scripts)[];

/** `completion <shell>`: prints a script that the shell reads once. */
export function registerCompletion(program: CommandUnknownOpts, terminal: Terminal): void {
  const name = program.name();
  program
    .command('completion')
    .description('print a script that makes the shell complete commands, options and file names')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      `
Examples:
  echo 'source <(${name} completion bash)' >> ~/.bashrc
  ${name} completion zsh > "\${fpath[1]}/_${name}"
  ${name} completion fish > ~/.config/fish/completions/${name}.fish`,
    )
    .action((shell) => terminal.write(scripts[shell](name, grammarOf(program))));
}
