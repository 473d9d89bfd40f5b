import { spawn } from 'node:child_process';
import { environmentOfTools } from './environment-of-tools.ts';
import { until } from './service.ts';

/** What a person types, each after the text that the terminal shows before it. */
export type Dialogue = readonly (readonly [shown: string, typed: string])[];

export interface TerminalChoices {
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
}

/**
 * Runs a program on a terminal of its own, which `script` of util-linux makes, with a person who types.
 * @returns its exit code, and everything that the terminal showed
 */
export async function onTerminal(
  argv: readonly string[],
  dialogue: Dialogue,
  { env, folder }: TerminalChoices,
): Promise<{ readonly exitCode: number | null; readonly shown: string }> {
  const words = argv.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  // A terminal without a width gets one column.
  const command = `stty cols 200 rows 40; exec ${words}`;
  const child = spawn('script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null'], {
    cwd: folder,
    env: { ...environmentOfTools(), SHELL: '/bin/sh', TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
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
    // What is typed is shown, too: the next text is looked for behind it.
    seen = shown.length;
  }
  return { exitCode: await ended, shown };
}
