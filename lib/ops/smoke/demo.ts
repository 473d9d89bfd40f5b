import type { Connection } from '../../contract/connection.ts';
import { counted, formatBytes, formatDuration } from '../../terminal/output.ts';
import { expectThat, NotApplicable } from './check.ts';
import { archive, deliveryChecks } from './checks/delivery.ts';
import { exportChecks } from './checks/export.ts';
import { type Expected, startLocalRun } from './run.ts';

/** Runs one step after the other, and prints a numbered line for each. @throws StepFailure */
export type Steps = <T>(title: string, work: () => Promise<T>, describe?: (value: T) => string) => Promise<T>;

/** A step did not hold. `cause` is what was thrown. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure';
}

export function createSteps(write: (text: string) => void): Steps {
  let number = 0;
  return async (title, work, describe = String) => {
    number += 1;
    const started = performance.now();
    const value = await work().catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : cause;
      throw new StepFailure(`step ${number} failed, ${title}: ${reason}`, { cause });
    });
    const took = formatDuration(performance.now() - started);
    write(`${String(number).padStart(2)}  ${title}: ${describe(value)} (${took})\n`);
    return value;
  };
}

interface Demonstration {
  readonly connection: Connection;
  readonly expected: Expected;
  /** Bytes of archived bodies that the function has read so far, and parts that S3 copied without it. */
  readonly stagingCost: () => { readonly bytesRead: number; readonly partsCopied: number };
  readonly steps: Steps;
  readonly signal: AbortSignal;
}

/**
 * The checks of the smoke test that are the main path, one step each, on a running engine: fill the archive, export, list, stream
 * and decrypt, verify the receipt, fetch directly, and what must be rejected.
 *
 * @throws StepFailure, which names the first step that did not hold
 */
export async function demonstrate({ connection, stagingCost, steps, ...given }: Demonstration): Promise<void> {
  await using run = await startLocalRun(connection, given);
  const staging = {
    id: 'staging',
    /** S3 copies the bodies. The traffic of an engine shows it, which a deployment keeps to itself. */
    async run() {
      const { bytesRead, partsCopied } = stagingCost();
      expectThat(partsCopied > 0, 'S3 itself copied no part of a body');
      return `S3 copied ${counted(partsCopied, 'part')}, a function read ${formatBytes(bytesRead)}`;
    },
  };
  for (const check of [archive, ...exportChecks, staging, ...deliveryChecks]) {
    const skipped = (error: unknown) => {
      if (error instanceof NotApplicable) return `skipped, ${error.message}`;
      throw error;
    };
    await steps(check.id, () => check.run(run).catch(skipped));
  }
}
