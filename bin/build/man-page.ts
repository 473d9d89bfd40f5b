import type { EventEmitter } from 'node:events';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { clientProgram } from '../../lib/client/cli/main.ts';
import { processTerminal } from '../../lib/terminal/process-terminal.ts';

/** `data-out(1)` in the macros of man(7), from the definitions that print `--help`. */
export async function manPage(version: string): Promise<string> {
  const program = await clientProgram({ terminal: processTerminal(), version });
  const name = program.name();
  return [
    // Text is neither hyphenated nor stretched, so that commands can be copied from it.
    `.TH ${roff(name).toUpperCase()} 1 "" "${roff(name)} ${roff(version)}"\n.nh\n.ad l`,
    `.SH NAME\n${roff(`${name} - ${program.description().replace(/\.$/, '')}`)}`,
    `.SH SYNOPSIS\n${bold(`${name} [options] [command]`)}`,
    `.SH OPTIONS\n${optionsOf(program)}`,
    '.SH COMMANDS',
    ...withCommandsBelow(program).slice(1).map(commandSection),
    `.SH NOTES\n${helpBelow(program)}\n`,
  ].join('\n');
}

const escapes = new Map([
  ['\\', '\\e'],
  ['-', '\\-'],
  ["'", '\\(aq'],
  ['`', '\\(ga'],
  ['"', '\\(dq'],
  ['^', '\\(ha'],
  ['~', '\\(ti'],
]);

/** Text as it is, whatever the formatter would otherwise make of its characters. */
export function roff(text: string): string {
  const escaped = [...text].map((character) => escapes.get(character) ?? character).join('');
  return escaped.replaceAll(/^\./gm, '\\&.');
}

const bold = (text: string) => `\\fB${roff(text)}\\fR`;

function commandSection(command: Command): string {
  const help = command.createHelp();
  const words = help.visibleArguments(command).map((each) => {
    return term(help.argumentTerm(each), help.argumentDescription(each));
  });
  return [
    `.SS ${bold(help.commandUsage(command))}`,
    roff(help.commandDescription(command)),
    ...words,
    optionsOf(command),
    helpBelow(command),
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function optionsOf(command: Command): string {
  const help = command.createHelp();
  const options = help.visibleOptions(command).filter(({ long }) => long !== '--help');
  return options.map((each) => term(help.optionTerm(each), help.optionDescription(each))).join('\n');
}

const term = (name: string, meaning: string) => `.TP\n${bold(name)}\n${roff(meaning)}`;

/** What `--help` prints below the options: paragraphs are filled, and indented lines stay apart. */
function helpBelow(command: Command): string {
  let text = '';
  const write = (more: string) => {
    text += more;
  };
  (command as unknown as EventEmitter).emit('afterHelp', { error: false, command, write });
  const paragraphs = text.split(/\n\s*\n/).map((paragraph) => paragraph.replace(/^\n/, '').trimEnd());
  return paragraphs
    .filter((paragraph) => paragraph !== '')
    .map((paragraph) => `.PP\n${paragraph.replaceAll(/^.*$/gm, (line) => shown(line))}`)
    .join('\n');
}

function shown(line: string): string {
  const indented = line.startsWith('  ');
  return indented ? `.br\n\\ \\ ${roff(line.trim())}` : roff(line);
}

function withCommandsBelow(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withCommandsBelow)];
}
