import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { runClient } from '../../lib/client/cli/main.ts';
import type { Terminal } from '../../lib/terminal/terminal.ts';
import { makeTerminal } from './ops-world.ts';

/** The outcome of a run of the client. */
export interface CliRun {
  readonly exitCode: number;
  /** Text and bytes of standard output, in their order. */
  readonly stdout: Buffer;
  readonly stderr: string;
}

/**
 * Runs the client in this process, without a terminal unless `choices` give one. Its home is an empty folder that
 * is removed at the end, so no configuration file of the developer is read.
 */
export async function runCli(argv: readonly string[], choices: Partial<Terminal> = {}): Promise<CliRun> {
  const chunks: Buffer[] = [];
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  const home = await mkdtemp(join(tmpdir(), 'data-out-home-'));
  const { terminal, said } = makeTerminal({
    output,
    write: (text) => void chunks.push(Buffer.from(text)),
    ...choices,
    env: { HOME: home, ...choices.env },
  });
  const exitCode = await runClient(argv, { terminal, version: '1.2.3' });
  // A request that the command no longer waits for can still be writing.
  await rm(home, { recursive: true, maxRetries: 5 });
  return { exitCode, stdout: Buffer.concat(chunks), stderr: said.stderr };
}

/** A terminal for people, so many cells wide. */
export function terminalOf(columns: number): Partial<Terminal> {
  return { isTerminal: true, outputIsTerminal: true, size: () => ({ columns, rows: 24 }) };
}
