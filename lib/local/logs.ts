import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import type { OnLog } from './functions.ts';

/** One log file per function and API, begun anew at every start. */
export class Logs {
  readonly directory: string;
  readonly #files = new Map<string, WriteStream>();
  readonly #onLog: OnLog | undefined;

  constructor(directory: string, onLog: OnLog | undefined) {
    mkdirSync(directory, { recursive: true });
    this.directory = directory;
    this.#onLog = onLog;
  }

  write(name: string, line: string): void {
    const file = this.#files.get(name) ?? createWriteStream(join(this.directory, `${name}.log`), { mode: 0o600 });
    this.#files.set(name, file);
    file.write(`${line}\n`);
    this.#onLog?.(name, line);
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.#files.values()].map(async (file) => {
        file.end();
        await finished(file);
      }),
    );
  }
}
