import { expect } from 'vitest';
import type { Service } from '../helpers/service.ts';
import { residentMemory } from '../helpers/worker-memory.ts';
import { print } from './size.ts';

/** How much larger than after the first tenth a size may be at the end. */
const growth = 1.25;
/** A process keeps memory between collections, the engine more than a function. What is in use has no such play. */
const slackBytes = { 'engine, in use': 16 * 2 ** 20, engine: 128 * 2 ** 20, function: 48 * 2 ** 20 };

/** Bytes by name: what the engine has in use, and the resident memory of the engine and of each function that runs. */
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
    print('memory, MiB: after a tenth, at the end');
    for (const [name, bytes] of last) {
      print(`${mebibytes(first.get(name))} ${mebibytes(bytes)}  ${name}`);
    }
    for (const [name, bytes] of last) {
      const before = first.get(name);
      if (before === undefined) continue;
      const slack = name in slackBytes ? slackBytes[name as keyof typeof slackBytes] : slackBytes.function;
      expect(bytes, `memory of ${name}`).toBeLessThan(before * growth + slack);
    }
  }

  #measure(): Memory {
    globalThis.gc?.();
    const { heapUsed, external, rss } = process.memoryUsage();
    const memory = new Map([
      ['engine, in use', heapUsed + external],
      ['engine', rss],
    ]);
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
