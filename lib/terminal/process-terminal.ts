import { closeSync, openSync } from 'node:fs';
import { ReadStream, WriteStream } from 'node:tty';
import { InterruptedError } from './errors.ts';
import { askHidden, askShown } from './prompts.ts';
import { standardInput } from './standard-input.ts';
import type { Terminal } from './terminal.ts';

/**
 * The terminal of this process. The first SIGINT or SIGTERM aborts its signal, and commands clean up. A second one ends
 * the process at once.
 */
export function processTerminal(): Terminal {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new InterruptedError());
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, interrupt);
  const { stdin, stdout, stderr } = process;
  let lost: Error | undefined;
  // A reader that closes the pipe (head, grep -q) is no failure, and the work still goes to its end.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') lost ??= error;
  });
  // Standard error itself failed: there is nowhere to report that.
  stderr.on('error', () => undefined);
  const asking = { signal: interrupted.signal, interrupt };
  const person = stdin.isTTY && stderr.isTTY ? { input: stdin, output: stderr } : undefined;
  const ask = person && ((question: string) => askHidden(question, person, asking));
  return {
    input: stdin,
    passingInput: { [Symbol.asyncIterator]: () => standardInput(stdin, interrupted.signal) },
    write: (text) => void stdout.write(text),
    output: stdout,
    async flush() {
      await new Promise<void>((resolve) => {
        stdout.write('', () => resolve());
      });
      if (lost) throw lost;
    },
    outputIsTerminal: stdout.isTTY === true,
    report: (text) => void stderr.write(text),
    isTerminal: stderr.isTTY === true,
    size: () => sizeOf(stderr) ?? sizeOf(stdout),
    ask,
    askAside: ask ?? controllingTerminal((question, terminal) => askHidden(question, terminal, asking)),
    askShown: person && ((question) => askShown(question, person, asking)),
    env: process.env,
    folder: process.cwd(),
    signal: interrupted.signal,
    now: () => new Date(),
  };
}

function sizeOf({ isTTY, columns, rows }: NodeJS.WriteStream) {
  return isTTY && columns > 0 ? { columns, rows } : undefined;
}

type Asking = (question: string, terminal: { input: ReadStream; output: WriteStream }) => Promise<string>;

/** Asks on `/dev/tty`; `undefined` in a process without one: a service, a scheduled job, Windows. */
function controllingTerminal(asking: Asking): ((question: string) => Promise<string>) | undefined {
  const open = () => openSync('/dev/tty', 'r+');
  try {
    closeSync(open());
  } catch {
    return undefined;
  }
  return async (question) => {
    const input = new ReadStream(open());
    const output = new WriteStream(open());
    try {
      return await asking(question, { input, output });
    } finally {
      input.destroy();
      output.destroy();
    }
  };
}
