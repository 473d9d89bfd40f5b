import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { grammarOf } from '../../../lib/terminal/completion/grammar.ts';
import { type CommandLine, client, ops } from '../../helpers/command-lines.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
const scriptOf = async ({ run }: CommandLine, shell: string) => (await run(['completion', shell])).stdout;

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'data-out-completion-'));
  mkdirSync(join(folder, 'sub folder'));
  writeFileSync(join(folder, 'sample one.bam'), '');
  writeFileSync(join(folder, 'prøve.bam'), '');
  for (const each of [client, ops]) writeFileSync(join(folder, each.name), await scriptOf(each, 'bash'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const offered = (...words: string[]) => offeredBy('data-out', ...words);

/** What bash offers for the last of these words. */
function offeredBy(name: string, ...words: string[]): string[] {
  const script = `source ./${name}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _${name.replaceAll('-', '_')} 2> /dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const run = execFileSync('bash', ['--norc', '-c', script, 'bash', name, ...words], { cwd: folder });
  return run
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .sort();
}

describe('completion in bash', () => {
  test('offers commands, and the commands below them', () => {
    expect(offered('')).toEqual(expect.arrayContaining(['decrypt', 'encrypt', 'keys', 'list']));
    expect(offered('d')).toEqual(['decrypt', 'doctor', 'download']);
    expect(offered('keys', '')).toEqual(['generate', 'passwd', 'show']);
  });

  test('offers the options of the command, and those of every command', () => {
    expect(offered('decrypt', '--')).toEqual(expect.arrayContaining(['--key', '--sender', '--json', '--quiet']));
    expect(offered('decrypt', '--rec')).toEqual([]);
    expect(offered('encrypt', '--rec')).toEqual(['--recipient']);
    expect(offered('encrypt', '--')).toEqual(expect.arrayContaining(['--key', '--passphrase-file']));
    expect(offered('decrypt', '--sen')).toEqual(['--sender']);
  });

  test('offers file names whole, with spaces and letters of any script', () => {
    expect(offered('encrypt', 'sam')).toEqual(['sample one.bam']);
    expect(offered('decrypt', '--key', 'pr')).toEqual(['prøve.bam']);
    expect(offered('decrypt', '-o', 'sub')).toEqual(['sub folder']);
    expect(offered('decrypt', '--key', '=', 'pr')).toEqual(['prøve.bam']);
    expect(offered('decrypt', '--sender', 'pr')).toEqual(['prøve.bam']);
  });

  test('offers the choices of an argument, and nothing where any text may stand', () => {
    expect(offered('completion', '')).toEqual(['bash', 'fish', 'zsh']);
    expect(offered('list', '--dataset', '')).toEqual([]);
    expect(offered('keys', 'generate', 'sam')).toEqual([]);
  });

  test('evaluates nothing of what was typed', () => {
    expect(offered('encrypt', '$(touch evaluated)')).toEqual([]);
    expect(offered('encrypt', 'evaluated')).toEqual([]);
  });
});

test("bash completes the operator's tool, too", () => {
  expect(offeredBy('data-out-ops', '')).toEqual(expect.arrayContaining(['archive', 'retire-release', 'visa']));
  expect(offeredBy('data-out-ops', 'visa', 'de')).toEqual(['denied', 'deny']);
  expect(offeredBy('data-out-ops', '--aws', 'dataset', '')).toEqual(['deprecate', 'list', 'release', 'show']);
  expect(offeredBy('data-out-ops', 'archive', 'add', 'sam')).toEqual(['sample one.bam']);
  expect(offeredBy('data-out-ops', 'archive', 'add', '--da')).toEqual(['--dataset']);
  expect(offeredBy('data-out-ops', 'completion', '')).toEqual(['bash', 'fish', 'zsh']);
});

describe.each([client, ops])('every shell, for $name', (each) => {
  test.each(shells)('%s knows every command and option of the help', async (shell) => {
    const script = await scriptOf(each, shell);
    const grammar = grammarOf(await each.program());
    expect(grammar.length).toBeGreaterThan(10);
    for (const { path, options } of grammar) {
      for (const word of path) expect(script).toContain(word);
      const long = options.flatMap(({ flags }) => flags).filter((flag) => flag.startsWith('--'));
      for (const flag of long) expect(script).toContain(shell === 'fish' ? `-l ${flag.slice(2)}` : flag);
    }
  });

  test('zsh: quotes are balanced, and the function is registered both ways it can be loaded', async () => {
    const script = await scriptOf(each, 'zsh');
    const outsideQuotes = script.replaceAll(/^ *#.*$/gm, '').replaceAll(/'[^']*'|\\'/g, '');
    expect(outsideQuotes).not.toContain("'");
    expect(script.startsWith(`#compdef ${each.name}\n`)).toBe(true);
    expect(script).toContain(`compdef _${each.name.replaceAll('-', '_')} ${each.name}`);
  });
});
