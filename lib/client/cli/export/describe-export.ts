import { growingPause } from '../../../common/timing.ts';
import { isUnderWay, type ShownExport } from '../../../contract/export-state.ts';
import { explainReason } from '../../../contract/reasons.ts';
import { counted, printable } from '../../../terminal/output.ts';
import type { DeliveryApi } from '../../api/delivery-api.ts';
import { ClientError, interrupted } from '../../api/errors.ts';

/** State, reason and counts on one line: `staging: 12 of 200 files staged, 1 given up`. */
export function describeState({ state, reason, counts }: Pick<ShownExport, 'state' | 'reason' | 'counts'>): string {
  const { total, staged, ...others } = counts;
  const rest = Object.entries(others).flatMap(([name, count]) =>
    count === 0 || name === 'pending' ? [] : `, ${count} ${name.replace('_', ' ')}`,
  );
  const files = total === 0 ? '' : `: ${staged} of ${counted(total, 'file')} staged${rest.join('')}`;
  return printable(`${state}${reason === null ? '' : ` (${reason})`}${files}`);
}

/** `undefined` for an export that is complete or continues; else an error with the exit code and the remedy for its outcome. */
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

/** The service checks a password for each poll. */
const pauses = { firstMs: 2_000, longestMs: 30_000, factor: 1.5 } as const;

/** The state of an export; `undefined` if the service has no record of it. @throws ClientError */
export async function recordedState(
  proxy: DeliveryApi,
  { requestId, kind }: { readonly requestId: string; readonly kind: string },
  signal: AbortSignal,
): Promise<ShownExport | undefined> {
  const page = await proxy.exportState(requestId, { kind, signal }).catch((error: unknown) => {
    // Not consumed yet.
    if (error instanceof ClientError && error.code === 'not_found') return undefined;
    throw error;
  });
  return page?.shown;
}

/** Polls an export until it is final, with growing pauses. @param onState gets each answer @throws ClientError */
export async function waitForExport(
  proxy: DeliveryApi,
  watched: Parameters<typeof recordedState>[1],
  signal: AbortSignal,
  onState: (shown: ShownExport) => void,
): Promise<ShownExport> {
  const { timing } = proxy.connection.transport;
  for (let asked = 0; ; asked += 1) {
    const shown = await recordedState(proxy, watched, signal);
    if (shown) onState(shown);
    if (shown && !isUnderWay(shown.state)) return shown;
    await timing.sleep(growingPause(asked, pauses), signal).catch((cause: unknown) => {
      throw interrupted(cause);
    });
  }
}
