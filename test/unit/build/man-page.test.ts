import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { expect, test } from 'vitest';
import { manPage, roff } from '../../../bin/build/man-page.ts';
import { clientProgram } from '../../../lib/client/cli/main.ts';
import { processTerminal } from '../../../lib/terminal/process-terminal.ts';

const version = '1.2.3';

/** Each command with the flags that only it declares, such as `-o, --output <folder>`. */
function declared(command: Command, before = ''): readonly (readonly [name: string, ...flags: string[]])[] {
  const name = `${before}${command.name()}`;
  const below = command.commands.flatMap((each) => declared(each, `${name} `));
  return [[name, ...command.options.filter(({ hidden }) => !hidden).map(({ flags }) => flags)], ...below];
}

test('the man page has every command, with each of its options, in macros and escapes of man(7)', async () => {
  const page = await manPage(version);
  const sections = page.split(/^\.S[SH] /m);
  const program = await clientProgram({ terminal: processTerminal(), version });
  const commands = declared(program);
  expect(commands.length).toBeGreaterThan(20);
  for (const [name, ...flags] of commands) {
    const heading = name === 'data-out' ? 'OPTIONS' : `\\fB${roff(name)} [options]`;
    const section = sections.find((each) => each.startsWith(heading));
    expect(section, name).toBeDefined();
    for (const each of flags) expect(section).toContain(`\n.TP\n\\fB${roff(each)}\\fR\n`);
  }
  expect(page.startsWith('.TH DATA\\-OUT 1 "" "data\\-out 1.2.3"\n')).toBe(true);
  expect(page.match(/^[.'](?!(TH|SH|SS|TP|PP|br|nh|ad l)\b).*|\\(?![e&\- ]|f[BR]|\((aq|ga|dq|ha|ti)).*/gm)).toBeNull();
});

test('the formatter reads no character of a text as a command or as another character', () => {
  expect(roff('.in\n\'in \\n -x `~^"')).toBe('\\&.in\n\\(aqin \\en \\-x \\(ga\\(ti\\(ha\\(dq');
});
