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

/**
 * What a client sees of the proxy API and of storage, in its own process and faster than the client: for files
 * larger than memory, and for measuring. It looks at no credentials.
 */
export class RangeServer {
  /** Base URL of the proxy API. */
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(url: string, process: ChildProcess) {
    this.url = url;
    this.#process = process;
  }

  /** @param delayMs before each answer, as on a network */
  static async start(files: readonly ServedFile[], delayMs = 0): Promise<RangeServer> {
    const script = fileURLToPath(new URL('./range-server-process.ts', import.meta.url));
    const child = fork(script);
    const listening = once(child, 'message') as Promise<[number]>;
    child.send({ files, delayMs });
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
