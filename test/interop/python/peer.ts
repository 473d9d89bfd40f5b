import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The Python reference in its own process, asked one thing after the other (see `crypt4gh_peer.py`). */
export class Peer {
  readonly #process: ChildProcess;
  readonly #replies: AsyncIterator<string>;

  /** @param python a Python that has the package `crypt4gh`. */
  constructor(python: string) {
    const script = fileURLToPath(new URL('crypt4gh_peer.py', import.meta.url));
    const child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'ignore'] });
    this.#process = child;
    this.#replies = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /** The bytes that the operation gives; byte values of the request go as base64. @throws Error with its words. */
  async ask(operation: string, request: Readonly<Record<string, unknown>>): Promise<Buffer> {
    const encoded = Object.entries(request).map(([name, value]) => [name, forJson(value)]);
    this.#process.stdin?.write(`${JSON.stringify({ operation, ...Object.fromEntries(encoded) })}\n`);
    const { value, done } = await this.#replies.next();
    if (done === true) throw new Error('the reference has ended');
    const { result, error } = JSON.parse(value) as { readonly result?: string; readonly error?: string };
    if (result === undefined) throw new Error(error);
    return Buffer.from(result, 'base64');
  }

  close(): void {
    this.#process.stdin?.end();
  }
}

function forJson(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return Array.isArray(value) ? value.map(forJson) : value;
}
