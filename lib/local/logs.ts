import { createWriteStream, mkdirSync, readdirSync, rmSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import type { OnLog } from './lambda/functions.ts';

/** One log file per function and API. They are kept with the other state, or else begun anew at every start. */
export class Logs {
  readonly directory: string;
  readonly #files = new Map<string, WriteStream>();
  readonly #onLog: OnLog | undefined;

  constructor(directory: string, options: { readonly keep: boolean; readonly onLog: OnLog | undefined }) {
    mkdirSync(directory, { recursive: true });
    if (!options.keep) {
      for (const name of readdirSync(directory)) if (name.endsWith('.log')) rmSync(join(directory, name));
    }
    this.directory = directory;
    this.#onLog = options.onLog;
  }

  write(name: string, line: string): void {
    const file =
      this.#files.get(name) ?? createWriteStream(join(this.directory, `${name}.log`), { flags: 'a', mode: 0o600 });
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
