import { isUnderWay, type ShownExport } from '../../../contract/export-state.ts';
import { explainReason } from '../../../contract/reasons.ts';
import { counted, printable } from '../../../terminal/output.ts';
import { ClientError } from '../../api/errors.ts';

/** State, reason and counts on one line: `staging: 12 of 200 files staged, 1 given up`. */
export function describeState({ state, reason, counts }: Pick<ShownExport, 'state' | 'reason' | 'counts'>): string {
  const { total, staged, ...others } = counts;
  const rest = Object.entries(others).flatMap(([name, count]) =>
    count === 0 || name === 'pending' ? [] : `, ${count} ${name.replace('_', ' ')}`,
  );
  const files = total === 0 ? '' : `: ${staged} of ${filesOf(total)} staged${rest.join('')}`;
  return printable(`${state}${reason === null ? '' : ` (${reason})`}${files}`);
}

export function filesOf(count: number): string {
  return counted(count, 'file');
}

/**
 * The outcome of an export, for a script: `undefined` if it is complete or continues, else an error whose code says what the
 * administrator can do.
 */
export function shortfallOf(shown: ShownExport): ClientError | undefined {
  const { state, reason, requestId } = shown;
  if (state === 'complete' || isUnderWay(state)) return undefined;
  const [code, consequence, advice] = shortfalls[state];
  const why = reason === null ? undefined : explainReason(reason);
  const remedy = `${consequence.replace('ID', requestId)} ${why?.remedy ?? advice}`;
  const meaning = why ? `: ${why.meaning}` : '';
  return new ClientError(code, `the export ${printable(requestId)} is ${describeState(shown)}${meaning}`, { remedy });
}

const shortfalls = {
  rejected: ['forbidden', 'Nothing was staged.', 'Ask the operator.'],
  withdrawn: ['forbidden', 'Its containers were taken back, with the dataset or by the operator.', 'Ask the operator.'],
  incomplete: ['partial', 'data-out admin show ID --files names them.', 'Export again, or ask the operator.'],
} as const;

/** A line for each explained reason code, in their order. */
export function explainReasons(reasons: readonly (string | null)[]): readonly string[] {
  const known = new Set(reasons.filter((reason) => reason !== null));
  return [...known].sort().flatMap((reason) => {
    const why = explainReason(reason);
    return why ? [`${reason}: ${why.meaning}. ${why.remedy}`] : [];
  });
}
