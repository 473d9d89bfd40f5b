import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import { notVerified } from './client-process.ts';
import { ClientWorld, namesIn } from './client-world.ts';
import type { FaultProxy } from './fault-proxy.ts';

/** The name of {@link LargeDownload}'s file. */
export const name = 'large.bam.c4gh';

/** One large file in the outbox, to be downloaded by a client that is stopped on the way. */
export class LargeDownload {
  readonly world: ClientWorld;
  /** The bytes that must be there in the end. */
  readonly container: Buffer;

  private constructor(world: ClientWorld, container: Buffer) {
    this.world = world;
    this.container = container;
  }

  /** @param size of the plaintext; more than 8 MiB come in several pieces */
  static async start(size: number): Promise<LargeDownload> {
    const world = await ClientWorld.start();
    return new LargeDownload(world, (await world.stageContainer(name, size)).container);
  }

  command(folder: string): readonly string[] {
    return ['download', name, '-o', folder, '--parallel', '2'];
  }

  /** Holds that the final name is that of the whole file or of nothing. @returns whether it exists */
  async expectNothingHalf(folder: string): Promise<boolean> {
    const names = await namesIn(folder).catch((): string[] => []);
    if (!names.includes(name)) return false;
    expect((await readFile(join(folder, name))).equals(this.container)).toBe(true);
    return true;
  }

  /** Holds that the same command makes it whole, says so, and leaves nothing else. */
  async expectWholeNow(folder: string, url?: string): Promise<void> {
    const run = await this.world.run(this.command(folder), url === undefined ? {} : { url });
    expect(run, run.stderr).toMatchObject({ exitCode: notVerified });
    expect(await namesIn(folder)).toEqual([name]);
    expect(await this.expectNothingHalf(folder)).toBe(true);
  }
}

const pieceBytes = 8 * 2 ** 20;

/** Bytes that the journal of a file says exist, as far as the pieces are whole; 0 without a journal. */
export async function journalled(folder: string): Promise<number> {
  const text = await readFile(join(folder, `${name}.part.json`), 'utf8').catch(() => '');
  const pieces = new Set(text.match(/^\[\d+/gm));
  return pieces.size * pieceBytes;
}

/** Bytes of storage that went through. */
export function bytesPassed(faults: FaultProxy): number {
  return faults.requests.reduce((sum, { on, bytes }) => sum + (on === 'storage' ? bytes : 0), 0);
}

/**
 * Calls the kill when so many bytes of storage have gone through.
 *
 * @param pace milliseconds between two pieces: slowly enough that what has been passed on has also come
 */
export function killAfter(faults: FaultProxy, bytes: number, kill: () => void, pace = 2): void {
  faults.onBytes = () => {
    if (bytesPassed(faults) >= bytes) {
      faults.onBytes = undefined;
      kill();
    }
    return setTimeout(pace);
  };
}

/** Does the work for each item, several at once. */
export async function inLanes<T>(lanes: number, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const item of rest) await work(item);
    }),
  );
}
