import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A file that the server makes while it is read: `repeat` again and again. */
export interface ServedFile {
  readonly name: string;
  readonly size: number;
  /** Base64. */
  readonly repeat: string;
}

/** A network between the server and its clients. */
export interface Line {
  /** Before each answer. Default: 0. */
  readonly delayMs?: number;
  /** Of the bodies of all connections together. Default: as many as there come. */
  readonly bitsPerSecond?: number;
}

/**
 * What a client sees of the delivery API and of storage, in its own process and faster than the client: for files
 * larger than memory, and for measuring. It looks at no credentials.
 */
export class RangeServer {
  /** Base URL of the delivery API. */
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(url: string, process: ChildProcess) {
    this.url = url;
    this.#process = process;
  }

  /** @param line the network in between; default: none */
  static async start(files: readonly ServedFile[], line: Line = {}): Promise<RangeServer> {
    const script = fileURLToPath(new URL('./range-server-process.ts', import.meta.url));
    const child = fork(script);
    const listening = once(child, 'message') as Promise<[number]>;
    child.send({ files, line });
    const [port] = await listening;
    return new RangeServer(`http://127.0.0.1:${port}/v1/`, child);
  }

  stop(): void {
    this.#process.disconnect();
  }
}

/** The content of a served file, for comparison: bytes [start, end). */
export function servedBytes({ repeat }: ServedFile, start: number, end: number): Buffer {
  const pattern = Buffer.from(repeat, 'base64');
  const bytes = Buffer.alloc(end - start);
  let at = start;
  while (at < end) {
    const source = pattern.subarray(at % pattern.length);
    at += source.copy(bytes, at - start, 0, Math.min(source.length, end - at));
  }
  return bytes;
}
