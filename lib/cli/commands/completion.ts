import { Argument, type Command } from 'commander';
import { bashCompletion } from '../completion/bash.ts';
import { fishCompletion } from '../completion/fish.ts';
import { grammarOf } from '../completion/grammar.ts';
import { zshCompletion } from '../completion/zsh.ts';
import type { CommandContext } from '../session.ts';

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

const afterHelp = `
Examples:
  bash  echo 'source <(data-out completion bash)' >> ~/.bashrc
  zsh   data-out completion zsh > "\${fpath[1]}/_data-out"
  fish  data-out completion fish > ~/.config/fish/completions/data-out.fish`;

/** `completion <shell>`: a script that the shell reads once. */
export function registerCompletion(program: Command, { terminal }: CommandContext): void {
  program
    .command('completion')
    .description('print what makes the shell complete commands, options and file names')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .addHelpText('after', afterHelp)
    .action((shell: keyof typeof scripts) => terminal.write(scripts[shell](program.name(), grammarOf(program))));
}
