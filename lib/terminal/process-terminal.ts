import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { InterruptedError } from './interrupted.ts';
import type { Terminal } from './terminal.ts';

/**
 * The terminal of this process. The first SIGINT or SIGTERM aborts its signal, so that what was begun is undone; a
 * second one ends the process at once.
 */
export function processTerminal(): Terminal {
  const interrupted = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => interrupted.abort(new InterruptedError()));
  }
  const { stdin, stdout, stderr } = process;
  // A reader that closes the pipe (head, grep -q) wants no more; that is not a failure.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit();
    throw error;
  });
  return {
    input: stdin,
    write: (text) => void stdout.write(text),
    report: (text) => void stderr.write(text),
    isTerminal: stderr.isTTY === true,
    ask: stdin.isTTY && stderr.isTTY ? (question) => askHidden(question, interrupted) : undefined,
    env: process.env,
    folder: process.cwd(),
    signal: interrupted.signal,
    now: () => new Date(),
  };
}

/** One line from the terminal, not echoed. */
async function askHidden(question: string, interrupted: AbortController): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  // In raw mode Ctrl-C is a key, not a signal.
  lines.once('SIGINT', () => interrupted.abort(new InterruptedError()));
  process.stderr.write(question);
  try {
    return await lines.question('', { signal: interrupted.signal });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
