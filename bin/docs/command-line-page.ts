import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import type { Option } from 'commander';
import { clientProgram } from '../../lib/client/cli/main.ts';
import { variables } from '../../lib/client/cli/settings.ts';
import { systemTiming } from '../../lib/common/timing.ts';
import { opsProgram } from '../../lib/ops/program.ts';
import { exitCodeLines } from '../../lib/terminal/exit-codes.ts';
import { processTerminal } from '../../lib/terminal/process-terminal.ts';
import { markdownTable } from './table.ts';

export const commandLinePagePath = join(import.meta.dirname, '../../docs/command-line.md');

/** What the page takes from the programs, each between `<!-- KIND NAME -->` and `<!-- end -->`. */
const generated = /(<!-- (settings|exit codes|commands) of (\S+) -->\n)[\s\S]*?(<!-- end -->)/g;

/** The page with its settings, exit codes and commands as the programs declare them now. */
export async function commandLinePage(page: string): Promise<string> {
  const terminal = processTerminal();
  const connect = () => Promise.reject(new Error('this only describes the commands'));
  const programs: Readonly<Record<string, Command>> = {
    'data-out': await clientProgram({ terminal, version: '0' }),
    'data-out-ops': opsProgram({ terminal, connect, timing: systemTiming }),
  };
  return page.replaceAll(generated, (_, begin: string, kind: string, name: string, end: string) => {
    if (kind === 'settings') return `${begin}${settings()}${end}`;
    if (kind === 'exit codes') return `${begin}${exitCodes()}${end}`;
    const program = programs[name];
    if (program === undefined) throw new Error(`there is no program ${name}`);
    return `${begin}${commandsOf(program)}${end}`;
  });
}

function settings(): string {
  const rows = Object.entries(variables).map(([key, names]) => [`\`${key}\``, `\`${names.join('`, `')}\``]);
  return markdownTable(['`config.toml`', 'environment'], rows);
}

function exitCodes(): string {
  return `\n${block(exitCodeLines.map((line) => line.replace(/^\d+/, (code) => code.padStart(3))).join('\n'))}\n`;
}

/** The options that every command takes, and a list of commands. `--help` has the other options. */
function commandsOf(program: Command): string {
  const rows = withCommandsBelow(program)
    .filter(({ commands }) => commands.length === 0)
    .map((command) => ({
      name: [...namesOf(command).slice(1), ...argumentsOf(command)].join(' '),
      purpose: command.description(),
    }));
  const width = Math.max(...rows.map(({ name }) => name.length)) + 2;
  const options = optionsOf(program).map(({ long, flags }) => `\`${long ?? flags}\``);
  return `
Every command takes ${options.slice(0, -1).join(', ')} and ${options.at(-1)}.

${block(rows.map(({ name, purpose }) => name.padEnd(width) + purpose).join('\n'))}
`;
}

function withCommandsBelow(command: Command): readonly Command[] {
  return [command, ...command.commands.filter(isShown).flatMap(withCommandsBelow)];
}

/** `completion` is the same in both programs. */
const isShown = (command: Command) => !['help', 'completion'].includes(command.name());

function namesOf(command: Command): readonly string[] {
  return [...(command.parent ? namesOf(command.parent) : []), command.name()];
}

function argumentsOf(command: Command): readonly string[] {
  const help = command.createHelp();
  return command.registeredArguments.map((each) => {
    const name = `${help.argumentTerm(each)}${each.variadic ? '...' : ''}`;
    return each.required ? `<${name}>` : `[${name}]`;
  });
}

function optionsOf(command: Command): readonly Option[] {
  const options = command.createHelp().visibleOptions(command);
  return options.filter(({ long, required }) => long !== '--help' && !(long === '--version' && !required));
}

/** A block of code. */
const block = (text: string) => `${text.replaceAll(/^(?=.)/gm, '    ')}\n`;

if (import.meta.main) {
  writeFileSync(commandLinePagePath, await commandLinePage(readFileSync(commandLinePagePath, 'utf8')));
}
