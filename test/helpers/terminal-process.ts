import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { environmentOfTools } from './environment-of-tools.ts';
import { until } from './service.ts';

export interface TerminalProcessChoices {
  readonly folder: string;
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Width in characters. Default 200. */
  readonly columns?: number;
  /** Whether a Ctrl-C that is typed is shown as `^C`. Default true. */
  readonly showsControls?: boolean;
}

/** Runs a program on its own terminal, which `script` of util-linux makes. Its exit code is that of the program. */
export function terminalProcess(
  argv: readonly string[],
  { folder, env, columns = 200, showsControls = true }: TerminalProcessChoices,
): ChildProcessWithoutNullStreams {
  // A terminal without a width gets one column.
  const size = `cols ${columns} rows 60${showsControls ? '' : ' -echoctl'}`;
  const command = `${programPath('stty')} ${size}; exec ${argv.map(shellWord).join(' ')}`;
  const words = ['--quiet', '--return', '--flush', '--command', command, '/dev/null'];
  const child = spawn(programPath('script'), words, { cwd: folder, env: { SHELL: '/bin/sh', TERM: 'xterm', ...env } });
  // A program may end before it reads what is typed.
  child.stdin.on('error', () => undefined);
  return child;
}

/** What a person types, each after the text that the terminal shows before it. */
export type Dialogue = readonly (readonly [shown: string, typed: string])[];

/**
 * Runs a program on a terminal, with a person who types.
 * @returns its exit code, and everything that the terminal showed
 */
export async function onTerminal(
  argv: readonly string[],
  dialogue: Dialogue,
  { env, folder }: Pick<TerminalProcessChoices, 'env' | 'folder'>,
): Promise<{ readonly exitCode: number | null; readonly shown: string }> {
  const child = terminalProcess(argv, { folder, env: { ...environmentOfTools(), ...env } });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  let seen = 0;
  for (const [question, typed] of dialogue) {
    const isShown = await until(
      () => (shown.includes(question, seen) ? true : child.exitCode !== null ? false : undefined),
      question,
      20_000,
    ).catch(() => false);
    if (!isShown) {
      child.stdin.end('\x03');
      throw new Error(`the terminal does not show ${question} in\n${shown}`);
    }
    child.stdin.write(typed);
    // What is typed is also shown: the next text is looked for behind it.
    seen = shown.length;
  }
  return { exitCode: await ended, shown };
}

/** A word for the shell. */
export function shellWord(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Where a program of this machine is. @throws if it is not on the PATH */
export function programPath(name: string): string {
  const found = (process.env.PATH ?? '').split(delimiter).find((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error(`this test needs ${name} on the PATH`);
  return join(found, name);
}
