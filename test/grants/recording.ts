import { appendFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AccessEntry } from '../../lib/local/iam/access.ts';

/** Variable with the folder into which each process writes the decisions of its engines. */
export const recordingVariable = 'DATA_OUT_GRANTS';

/** Records a decision as a line of JSON, at once: a process that is killed loses none. `undefined`: nothing is recorded. */
export const recordAccess = recorderIn(process.env[recordingVariable]);

function recorderIn(folder: string | undefined): ((entry: AccessEntry) => void) | undefined {
  if (!folder) return undefined;
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${process.pid}.jsonl`);
  return (entry) => appendFileSync(file, `${JSON.stringify(entry)}\n`);
}

/** The decisions of all processes. */
export function readRecordings(folder: string): readonly AccessEntry[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AccessEntry);
}
