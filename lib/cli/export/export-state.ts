import { ClientError } from '../../client/errors.ts';
import { isUnderWay, type ShownExport } from '../../contract/export-state.ts';
import { printable } from '../../terminal/output.ts';

/** State, reason and counts on one line: `staging: 12 of 200 files staged, 1 retrying`. */
export function describeState({ state, reason, counts }: Pick<ShownExport, 'state' | 'reason' | 'counts'>): string {
  const { total, staged, ...others } = counts;
  const rest = Object.entries(others).flatMap(([name, count]) =>
    count === 0 || name === 'pending' ? [] : `, ${count} ${name.replace('_', ' ')}`,
  );
  const files = total === 0 ? '' : `: ${staged} of ${filesOf(total)} staged${rest.join('')}`;
  return printable(`${state}${reason === null ? '' : ` (${reason})`}${files}`);
}

export function filesOf(count: number): string {
  return count === 1 ? '1 file' : `${count} files`;
}

/**
 * What an export has come to, for a script: `undefined` if it is complete or goes on, else an error. Its code is what the
 * administrator can do next.
 */
export function shortfallOf(shown: ShownExport): ClientError | undefined {
  const { state } = shown;
  if (state === 'complete' || isUnderWay(state)) return undefined;
  const [code, advice] = shortfalls[state];
  const files = state === 'incomplete' ? `data-out exports show ${shown.requestId} --files names them. ` : '';
  const remedy = `${files}${advice}`;
  return new ClientError(code, `the export ${printable(shown.requestId)} is ${describeState(shown)}`, { remedy });
}

const shortfalls = {
  rejected: ['forbidden', 'Nothing was staged. Remove the reason, which docs/client.md explains, and export again.'],
  withdrawn: ['forbidden', 'The dataset was withdrawn. Ask the operator.'],
  incomplete: ['partial', 'Export again, or ask the operator.'],
  failed: ['unavailable', 'Export again later, or ask the operator.'],
} as const;
