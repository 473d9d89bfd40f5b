import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AccessEntry } from '../../lib/local/iam/access.ts';

/** Variable with the folder into which each process writes the decisions of its engines. */
export const recordingVariable = 'DATA_OUT_GRANTS';

/** JSON lines of this process. `undefined`: nothing is recorded. A line is written at once, so a killed process loses none. */
export const recordingFile = fileIn(process.env[recordingVariable]);

function fileIn(folder: string | undefined): string | undefined {
  if (!folder) return undefined;
  mkdirSync(folder, { recursive: true });
  return join(folder, `${process.pid}.jsonl`);
}

/** The decisions of all processes. */
export function readRecordings(folder: string): readonly AccessEntry[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AccessEntry);
}
