import { closeSync, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { isatty, ReadStream as TerminalReader, WriteStream } from 'node:tty';
import { InterruptedError } from './errors.ts';
import { askHidden, askShown } from './prompts.ts';
import type { Terminal } from './terminal.ts';

/** The terminal of this process. The first SIGINT or SIGTERM aborts its signal; a second one ends the process at once. */
export function processTerminal(): Terminal {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new InterruptedError());
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, interrupt);
  const { stdout, stderr } = process;
  let lost: Error | undefined;
  // A reader that closes the pipe (head, grep -q) is not an error, and the work is still finished.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') lost ??= error;
  });
  // Standard error itself failed: there is nowhere to report that.
  stderr.on('error', () => undefined);
  const asking = { signal: interrupted.signal, interrupt };
  const isAsked = isatty(0) && stderr.isTTY;
  const person = () => ({ input: process.stdin, output: stderr });
  const ask = isAsked ? (question: string) => askHidden(question, person(), asking) : undefined;
  return {
    // Opened on first use, because few commands read it.
    get input() {
      return process.stdin;
    },
    passingInput: { [Symbol.asyncIterator]: () => standardInput(interrupted.signal) },
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
    askShown: isAsked ? (question) => askShown(question, person(), asking) : undefined,
    env: process.env,
    folder: process.cwd(),
    signal: interrupted.signal,
    now: () => new Date(),
  };
}

function sizeOf({ isTTY, columns, rows }: NodeJS.WriteStream) {
  return isTTY && columns > 0 ? { columns, rows } : undefined;
}

type Asking = (question: string, terminal: { input: TerminalReader; output: WriteStream }) => Promise<string>;

/** Asks on `/dev/tty`; `undefined` in a process without one: a service, a scheduled job, Windows. */
function controllingTerminal(asking: Asking): ((question: string) => Promise<string>) | undefined {
  const open = () => openSync('/dev/tty', 'r+');
  try {
    closeSync(open());
  } catch {
    return undefined;
  }
  return async (question) => {
    const input = new TerminalReader(open());
    const output = new WriteStream(open());
    try {
      return await asking(question, { input, output });
    } finally {
      input.destroy();
      output.destroy();
    }
  };
}

/** What a pipe holds on Linux. */
const pipeBytes = 64 * 1024;

/**
 * The bytes of standard input. A chunk is valid until the next one is requested: its memory is reused or freed.
 * @throws the reason of `signal`, also while it waits for a pipe.
 */
async function* standardInput(signal: AbortSignal): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted();
  const { stdin, platform } = process;
  // On Windows a pipe is something else.
  if (platform !== 'win32' && fstatSync(0).isFIFO()) yield* pipeChunks(signal);
  else yield* streamChunks(stdin, signal);
}

/** Reads into three buffers: the consumer has one, one is full, and one is being filled. */
async function* pipeChunks(signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const free = [1, 2, 3].map(() => Buffer.allocUnsafeSlow(pipeBytes));
  const waiting: (readonly [memory: Buffer<ArrayBuffer>, bytes: number])[] = [];
  /** Of the next read. */
  let target = Buffer.alloc(0);
  let end: { readonly error?: unknown } | undefined;
  let wake = () => {};
  const onread = {
    buffer: () => {
      target = free.pop() ?? target;
      return target;
    },
    // Node.js calls `buffer` after this even if it pauses, so the last free one is for the read after the pause.
    callback: (bytes: number) => {
      waiting.push([target, bytes]);
      wake();
      return free.length > 1;
    },
  };
  const pipe = new Socket({ fd: 0, writable: false, signal, onread });
  const ended = (error?: unknown) => {
    end ??= { error };
    wake();
  };
  pipe.on('end', () => ended()).on('error', ended);
  try {
    pipe.resume();
    for (;;) {
      signal.throwIfAborted();
      const [memory, bytes] = waiting.shift() ?? [];
      if (memory) {
        yield memory.subarray(0, bytes);
        free.push(memory);
        pipe.resume();
      } else if (end) {
        if (end.error) throw end.error;
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    pipe.destroy();
  }
}

async function* streamChunks(stdin: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  // Without this, an interrupt would wait for the next bytes.
  const stop = () => stdin.destroy(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of stdin as AsyncIterable<Buffer<ArrayBuffer>>) {
      yield chunk;
      // The garbage collector would free it late, and memory would grow.
      if (chunk.length === chunk.buffer.byteLength) chunk.buffer.transfer(0);
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
