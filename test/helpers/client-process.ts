import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { exitCodes } from '../../lib/terminal/exit-codes.ts';
import { startOf } from './installed-program.ts';

const script = join(import.meta.dirname, '../../bin/data-out.ts');

/** The outcome of a process of the client. */
export interface ClientRun {
  /** `null` when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ClientChoices {
  /** Its whole environment except `PATH`, which an executable does not get: the developer's variables are not passed on. */
  readonly env: Readonly<Record<string, string>>;
  /** Where it runs; default: where the test does. */
  readonly folder?: string;
  /** A command that runs it, such as `['sh', '-c', 'ulimit -f 8; exec "$@"', 'sh']`. */
  readonly within?: readonly string[];
  readonly uid?: number;
  /** The executable; default: the sources. */
  readonly script?: string;
}

/** A process of the client, as its users start it. */
export function startClient(
  argv: readonly string[],
  choices: ClientChoices,
): { readonly child: ChildProcess; readonly ended: Promise<ClientRun> } {
  const { env, folder, within = [], uid } = choices;
  const start = startOf(choices.script ?? script);
  const [command = '', ...args] = [...within, ...start.command, ...argv];
  const child = spawn(command, args, {
    env: { ...start.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(folder !== undefined && { cwd: folder }),
    ...(uid !== undefined && { uid, gid: uid }),
  });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  }
  const ended = new Promise<ClientRun>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode, signal) => resolve({ exitCode, signal, ...said }));
  });
  return { child, ended };
}

/** Runs the client to its end. */
export function runClient(argv: readonly string[], choices: ClientChoices): Promise<ClientRun> {
  return startClient(argv, choices).ended;
}

/** The end of a download of files that no receipt names, as most of the tests have them: they are whole, but not verified. */
export const { notVerified } = exitCodes;
