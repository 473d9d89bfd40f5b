import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { grammarOf } from '../../../lib/cli/completion/grammar.ts';
import { createProgram } from '../../../lib/cli/main.ts';
import { runCli } from '../../helpers/cli-run.ts';
import { makeTerminal } from '../../helpers/ops-world.ts';

let folder: string;
const scripts: Record<string, string> = {};
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'data-out-completion-'));
  mkdirSync(join(folder, 'sub folder'));
  writeFileSync(join(folder, 'sample one.bam'), '');
  writeFileSync(join(folder, 'prøve.bam'), '');
  for (const shell of ['bash', 'zsh', 'fish']) {
    scripts[shell] = (await runCli(['completion', shell])).stdout.toString();
    writeFileSync(join(folder, shell), scripts[shell]);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What bash offers for the last of these words. */
function offered(...words: string[]): string[] {
  const script = `source ./bash
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _data_out 2> /dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const run = execFileSync('bash', ['--norc', '-c', script, 'bash', 'data-out', ...words], { cwd: folder });
  return run
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .sort();
}

describe('completion in bash', () => {
  test('offers commands, and the commands below them', () => {
    expect(offered('')).toEqual(expect.arrayContaining(['decrypt', 'encrypt', 'keys', 'list']));
    expect(offered('re')).toEqual(['rearrange', 'reencrypt']);
    expect(offered('keys', '')).toEqual(['generate', 'passwd', 'show']);
  });

  test('offers the options of the command, and those of every command', () => {
    expect(offered('decrypt', '--')).toEqual(expect.arrayContaining(['--key', '--range', '--json', '--quiet']));
    expect(offered('decrypt', '--rec')).toEqual([]);
    expect(offered('encrypt', '--rec')).toEqual(['--recipient']);
    expect(offered('encrypt', '--')).toEqual(expect.arrayContaining(['--key', '--passphrase-file', '--range']));
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
    expect(offered('decrypt', '--range', '')).toEqual([]);
    expect(offered('keys', 'generate', 'sam')).toEqual([]);
  });

  test('goes by the command although options stand before it', () => {
    expect(offered('--json', 'keys', '--quiet', '')).toEqual(['generate', 'passwd', 'show']);
  });

  test('evaluates nothing of what was typed', () => {
    expect(offered('encrypt', '$(touch evaluated)')).toEqual([]);
    expect(offered('encrypt', 'evaluated')).toEqual([]);
  });
});

describe('every shell', () => {
  test.each(['bash', 'zsh', 'fish'])('%s knows every command and option of the help', (shell) => {
    const grammar = grammarOf(createProgram({ terminal: makeTerminal().terminal, version: '1.2.3' }));
    expect(grammar.length).toBeGreaterThan(10);
    for (const { path, options } of grammar) {
      for (const word of path) expect(scripts[shell]).toContain(word);
      const long = options.flatMap(({ flags }) => flags).filter((flag) => flag.startsWith('--'));
      for (const flag of long) expect(scripts[shell]).toContain(shell === 'fish' ? `-l ${flag.slice(2)}` : flag);
    }
  });

  test('zsh: quotes are balanced, and the function is registered both ways it can be loaded', () => {
    const outsideQuotes = scripts['zsh']!.replaceAll(/^ *#.*$/gm, '').replaceAll(/'[^']*'|\\'/g, '');
    expect(outsideQuotes).not.toContain("'");
    expect(scripts['zsh']).toMatch(/^#compdef data-out\n/);
    expect(scripts['zsh']).toContain('compdef _data_out data-out');
  });

  test('an unknown shell is wrong usage', async () => {
    const { exitCode, stderr } = await runCli(['completion', 'tcsh']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('bash, zsh, fish');
  });
});
