import { expect } from 'vitest';
import { residentMemory } from '../bench/worker-memory.ts';
import type { Service } from '../helpers/service.ts';
import { print } from './size.ts';

/** What a process may have at the end, of what it had after the first tenth; and a part of a heap that was not full yet. */
const growth = 1.25;
const slackBytes = 48 * 2 ** 20;

/** Resident memory in bytes of the engine and of each function that runs, by its short name. */
type Memory = ReadonlyMap<string, number>;

/** Compares the memory after the first tenth of a run with that at its end. */
export class MemoryWatch {
  readonly #service: Service;
  readonly #total: number;
  #first: Memory | undefined;

  /** @param total how many things are done in the run */
  constructor(service: Service, total: number) {
    this.#service = service;
    this.#total = total;
  }

  /** @param done how many things have been done so far */
  look(done: number): void {
    // The tests' own record of all log lines is not the engine's memory.
    this.#service.logs.length = 0;
    if (done >= this.#total / 10) this.#first ??= this.#measure();
  }

  /** Print both, and hold them against each other. */
  check(): void {
    const last = this.#measure();
    const first = this.#first ?? last;
    print('resident memory, MiB: after a tenth, at the end');
    for (const [name, bytes] of last) {
      print(`${mebibytes(first.get(name))} ${mebibytes(bytes)}  ${name}`);
    }
    for (const [name, bytes] of last) {
      const before = first.get(name);
      if (before !== undefined) expect(bytes, `memory of ${name}`).toBeLessThan(before * growth + slackBytes);
    }
  }

  #measure(): Memory {
    globalThis.gc?.();
    const memory = new Map([['engine', process.memoryUsage().rss]]);
    const { functions } = this.#service.engine;
    for (const name of functions.names) {
      const bytes = residentMemory(functions.definition(name).environment.AWS_LAMBDA_FUNCTION_NAME ?? '');
      if (bytes !== undefined) memory.set(name, bytes);
    }
    return memory;
  }
}

function mebibytes(bytes: number | undefined): string {
  return (bytes === undefined ? '-' : (bytes / 2 ** 20).toFixed(0)).padStart(8);
}
